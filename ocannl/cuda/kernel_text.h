// SPDX-License-Identifier: Apache-2.0
//
// The kernels of a LoopProgram as CUDA C: one for each `grid` nest, whose
// iterations are blocks; what stands between two such runs in one thread.
//
//   grid i7 = 0 to 9 {            extern "C" __global__ void
//     thread i8 = 0 to 31 {       __launch_bounds__(32) step_0(...) {
//       ...                         const i64_t i0 = blockIdx.x;
//     }                             {  // a phase
//     thread i9 = 0 to 31 {           const i64_t i1 = threadIdx.x; ...
//       ...                         }
//     }                             __syncthreads();
//   }                               ...
//
// The text includes nothing, so NVRTC needs no header of the toolkit.
#ifndef OCANNL_CUDA_KERNEL_TEXT_H_
#define OCANNL_CUDA_KERNEL_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::cuda {

struct Kernel {
  size_t function;  // in KernelText
  // Its arguments: the addresses of these, then that of all static indices, as
  // i64, where the program has some.
  std::vector<BufferId> buffers;
  std::vector<BufferId> written;  // those of them that it writes, ascending
  int64_t blocks = 1;
  int64_t threads = 1;  // of a block
  int64_t shared_bytes = 0;
};

struct KernelFunction {
  std::string name;
  std::string text;  // without what stands in front of all functions
};

struct KernelText {
  // Kernels that differ in their arguments and their number of blocks only
  // share one: layers of a network. Comments have the names of the first.
  std::vector<KernelFunction> functions;
  std::vector<Kernel> kernels;  // to be run one after the other
  // Where the program has static indices, a function that adds to each of them
  // its step, those being behind them in memory; its argument is their address.
  std::optional<size_t> advance;
};

// Verify accepts `program`, and its body has no locals (rewrite::Demote). Temps
// are arguments too; no two of them share memory while both hold values.
KernelText WriteKernels(const LoopProgram& program);

// The one kernel of a program of one block (schedule/gpu/one_block.h), which
// runs it many times. Its last argument is always the address of the static
// indices, which are followed by their steps and the number of runs. The kernel
// does not change these.
KernelText WritePersistentKernel(const LoopProgram& program);

// What a compiler gets for these functions.
std::string SourceOf(absl::Span<const KernelFunction> functions);

// The calls in the order of the program, as comments: the name of a function,
// <<<blocks, threads, bytes of shared memory>>> and the arguments.
std::string PrintCalls(const LoopProgram& program, const KernelText& text);

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_KERNEL_TEXT_H_
