// SPDX-License-Identifier: Apache-2.0
//
// NCCL, NVIDIA's library for messages between GPUs. The engine uses only its
// sends and receives, and computes sums itself, in an order that does not
// depend on how GPUs are wired. The library is looked up on the machine when it
// is asked for.
//
//   const NcclNetwork network(gpu, *FindNccl());
#ifndef OCANNL_CUDA_NCCL_H_
#define OCANNL_CUDA_NCCL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/core/runtime/device_network.h"
#include "ocannl/cuda/driver.h"
#include "ocannl/cuda/gpu.h"

namespace ocannl::cuda {

using NcclResult = int;                   // ncclResult_t
using NcclCommHandle = struct ncclComm*;  // ncclComm_t
inline constexpr int kNcclUint8 = 1;      // ncclUint8
struct NcclUniqueId {                     // ncclUniqueId
  DeviceNetwork::Key bytes;
};

// NCCL_FUNCTION(name, parameters): each of them, by its name in nccl.h
// (https://docs.nvidia.com/deeplearning/nccl) less "nccl". All but the first
// return an ncclResult_t.
#define OCANNL_NCCL_FUNCTIONS(NCCL_FUNCTION)                                   \
  NCCL_FUNCTION(GetUniqueId, (NcclUniqueId * id))                              \
  NCCL_FUNCTION(CommInitRank,                                                  \
                (NcclCommHandle * comm, int ranks, NcclUniqueId id, int rank)) \
  NCCL_FUNCTION(CommAbort, (NcclCommHandle comm))                              \
  NCCL_FUNCTION(Send, (const void* from, size_t count, int type, int to,       \
                       NcclCommHandle comm, StreamHandle stream))              \
  NCCL_FUNCTION(Recv, (void* to, size_t count, int type, int from,             \
                       NcclCommHandle comm, StreamHandle stream))

struct NcclFunctions {
  std::shared_ptr<const SharedLibrary> library;
  const char* (*GetErrorString)(NcclResult result);
#define OCANNL_MEMBER(name, parameters) NcclResult(*name) parameters;
  OCANNL_NCCL_FUNCTIONS(OCANNL_MEMBER)
#undef OCANNL_MEMBER

  // Error: NCCL's words for `result`, and `what` was being done.
  absl::Status Check(NcclResult result, absl::string_view what) const;
};

// Of libnccl.so.2. Error: there is none, or it is older than NCCL 2.7.
absl::StatusOr<NcclFunctions> FindNccl();

// The GPU outlives it and its links.
class NcclNetwork : public DeviceNetwork {
 public:
  NcclNetwork(const Gpu& gpu, NcclFunctions nccl)
      : gpu_(gpu), nccl_(std::move(nccl)) {}

  uint64_t DeviceId() const override;
  absl::StatusOr<Key> MakeKey() const override;
  absl::StatusOr<std::unique_ptr<DeviceLink>> Connect(
      int rank, int ranks, const Key& key) const override;

 private:
  const Gpu& gpu_;
  const NcclFunctions nccl_;
};

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_NCCL_H_
