// SPDX-License-Identifier: Apache-2.0
//
// DriverFunctions: the functions of NVIDIA's driver that the engine calls, by
// their names in cuda.h (https://docs.nvidia.com/cuda/cuda-driver-api) less
// "cu". They are looked up in the driver of the machine; the build needs
// nothing of CUDA.
//
//   OCANNL_ASSIGN_OR_RETURN(const DriverFunctions driver, FindDriver());
//   if (driver.Init(0) != kSuccess) ...
//
// Tests put functions of their own in the place of these.
#ifndef OCANNL_CUDA_DRIVER_H_
#define OCANNL_CUDA_DRIVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/system/shared_library.h"

namespace ocannl::cuda {

using Result = int;  // CUresult
inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

using DevicePointer = uint64_t;  // CUdeviceptr
using ContextHandle = struct CUctx_st*;
using EventHandle = struct CUevent_st*;
using FunctionHandle = struct CUfunc_st*;
using GraphExecHandle = struct CUgraphExec_st*;
using GraphHandle = struct CUgraph_st*;
using ModuleHandle = struct CUmod_st*;
using NodeHandle = struct CUgraphNode_st*;
using StreamHandle = struct CUstream_st*;

// CUdevice_attribute and CUfunction_attribute.
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kPageableMemoryAccess = 88;
inline constexpr int kMaxSharedMemoryPerBlockOptin = 97;
inline constexpr int kMaxDynamicSharedSizeBytes = 8;

// CU_STREAM_DEFAULT: what the legacy stream, null, is given comes after all
// that such streams were given before, and before all that they are given
// later.
inline constexpr unsigned kBlockingStream = 0;
inline constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

// CUuuid: no two GPUs of the world have the same.
struct Uuid {
  std::array<char, 16> bytes;
};

// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  FunctionHandle function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;
  ContextHandle context;
};

// DRIVER_FUNCTION(name, symbol, parameters): each of them. A symbol is the one
// that cuda.h of CUDA 12 and 13 defines the name to be.
#define OCANNL_DRIVER_FUNCTIONS(DRIVER_FUNCTION)                               \
  DRIVER_FUNCTION(Init, "cuInit", (unsigned flags))                            \
  DRIVER_FUNCTION(GetErrorName, "cuGetErrorName",                              \
                  (Result error, const char** name))                           \
  DRIVER_FUNCTION(GetErrorString, "cuGetErrorString",                          \
                  (Result error, const char** text))                           \
  DRIVER_FUNCTION(DeviceGetCount, "cuDeviceGetCount", (int* count))            \
  DRIVER_FUNCTION(DeviceGet, "cuDeviceGet", (int* device, int ordinal))        \
  DRIVER_FUNCTION(DeviceGetName, "cuDeviceGetName",                            \
                  (char* name, int size, int device))                          \
  DRIVER_FUNCTION(DeviceGetUuid, "cuDeviceGetUuid_v2",                         \
                  (Uuid * uuid, int device))                                   \
  DRIVER_FUNCTION(DeviceGetAttribute, "cuDeviceGetAttribute",                  \
                  (int* value, int attribute, int device))                     \
  DRIVER_FUNCTION(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",          \
                  (ContextHandle * context, int device))                       \
  DRIVER_FUNCTION(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2",     \
                  (int device))                                                \
  DRIVER_FUNCTION(CtxSetCurrent, "cuCtxSetCurrent", (ContextHandle context))   \
  DRIVER_FUNCTION(CtxSynchronize, "cuCtxSynchronize", ())                      \
  DRIVER_FUNCTION(StreamCreate, "cuStreamCreate",                              \
                  (StreamHandle * stream, unsigned flags))                     \
  DRIVER_FUNCTION(StreamDestroy, "cuStreamDestroy_v2", (StreamHandle stream))  \
  DRIVER_FUNCTION(StreamSynchronize, "cuStreamSynchronize",                    \
                  (StreamHandle stream))                                       \
  DRIVER_FUNCTION(StreamWaitEvent, "cuStreamWaitEvent",                        \
                  (StreamHandle stream, EventHandle event, unsigned flags))    \
  DRIVER_FUNCTION(EventCreate, "cuEventCreate",                                \
                  (EventHandle * event, unsigned flags))                       \
  DRIVER_FUNCTION(EventDestroy, "cuEventDestroy_v2", (EventHandle event))      \
  DRIVER_FUNCTION(EventRecord, "cuEventRecord",                                \
                  (EventHandle event, StreamHandle stream))                    \
  DRIVER_FUNCTION(EventQuery, "cuEventQuery", (EventHandle event))             \
  DRIVER_FUNCTION(EventSynchronize, "cuEventSynchronize", (EventHandle event)) \
  DRIVER_FUNCTION(MemAlloc, "cuMemAlloc_v2",                                   \
                  (DevicePointer * address, size_t bytes))                     \
  DRIVER_FUNCTION(MemFree, "cuMemFree_v2", (DevicePointer address))            \
  DRIVER_FUNCTION(MemsetD8Async, "cuMemsetD8Async",                            \
                  (DevicePointer to, unsigned char value, size_t bytes,        \
                   StreamHandle stream))                                       \
  DRIVER_FUNCTION(                                                             \
      MemsetD32Async, "cuMemsetD32Async",                                      \
      (DevicePointer to, unsigned value, size_t words, StreamHandle stream))   \
  DRIVER_FUNCTION(                                                             \
      MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                 \
      (DevicePointer to, const void* from, size_t bytes, StreamHandle stream)) \
  DRIVER_FUNCTION(                                                             \
      MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                 \
      (void* to, DevicePointer from, size_t bytes, StreamHandle stream))       \
  DRIVER_FUNCTION(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                     \
                  (DevicePointer to, DevicePointer from, size_t bytes,         \
                   StreamHandle stream))                                       \
  DRIVER_FUNCTION(ModuleLoadData, "cuModuleLoadData",                          \
                  (ModuleHandle * module, const void* image))                  \
  DRIVER_FUNCTION(ModuleUnload, "cuModuleUnload", (ModuleHandle module))       \
  DRIVER_FUNCTION(                                                             \
      ModuleGetFunction, "cuModuleGetFunction",                                \
      (FunctionHandle * function, ModuleHandle module, const char* name))      \
  DRIVER_FUNCTION(FuncSetAttribute, "cuFuncSetAttribute",                      \
                  (FunctionHandle function, int attribute, int value))         \
  DRIVER_FUNCTION(LaunchKernel, "cuLaunchKernel",                              \
                  (FunctionHandle function, unsigned grid_x, unsigned grid_y,  \
                   unsigned grid_z, unsigned block_x, unsigned block_y,        \
                   unsigned block_z, unsigned shared_bytes,                    \
                   StreamHandle stream, void** parameters, void** extra))      \
  DRIVER_FUNCTION(GraphCreate, "cuGraphCreate",                                \
                  (GraphHandle * graph, unsigned flags))                       \
  DRIVER_FUNCTION(GraphDestroy, "cuGraphDestroy", (GraphHandle graph))         \
  DRIVER_FUNCTION(                                                             \
      GraphAddKernelNode, "cuGraphAddKernelNode_v2",                           \
      (NodeHandle * node, GraphHandle graph, const NodeHandle* after,          \
       size_t num_after, const KernelNode* parameters))                        \
  DRIVER_FUNCTION(GraphInstantiate, "cuGraphInstantiateWithFlags",             \
                  (GraphExecHandle * exec, GraphHandle graph, uint64_t flags)) \
  DRIVER_FUNCTION(GraphExecDestroy, "cuGraphExecDestroy",                      \
                  (GraphExecHandle exec))                                      \
  DRIVER_FUNCTION(GraphLaunch, "cuGraphLaunch",                                \
                  (GraphExecHandle exec, StreamHandle stream))

struct DriverFunctions {
  std::shared_ptr<const SharedLibrary> library;
#define OCANNL_MEMBER(name, symbol, parameters) Result(*name) parameters;
  OCANNL_DRIVER_FUNCTIONS(OCANNL_MEMBER)
#undef OCANNL_MEMBER

  // Error: CUDA's name of `result`, its words, and `what` was being done.
  absl::Status Check(Result result, absl::string_view what) const;
};

// Of libcuda.so.1. Error: there is none, or it is older than CUDA 12.
absl::StatusOr<DriverFunctions> FindDriver();

// How many GPUs the driver of the machine knows. Errors: those of FindDriver;
// the driver's.
absl::StatusOr<int> NumGpus();

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_DRIVER_H_
