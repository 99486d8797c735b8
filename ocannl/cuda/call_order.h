// SPDX-License-Identifier: Apache-2.0
//
// CallOrder: the dependence graph of the kernels of a program: which earlier
// ones each has to wait for, as one writes what the other one touches
// (Bernstein's conditions, 1966).
//
//   kernel 0 writes a; 1 writes b; 2 reads a and b     2 waits for 0 and 1
#ifndef OCANNL_CUDA_CALL_ORDER_H_
#define OCANNL_CUDA_CALL_ORDER_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/plan_buffers.h"
#include "ocannl/cuda/kernel_text.h"

namespace ocannl::cuda {

// Of each kernel, the earlier ones that it waits for, and that no other one of
// those waits for (transitive reduction). Temps that share memory by `plan`
// conflict like one buffer.
std::vector<std::vector<size_t>> CallOrder(const LoopProgram& program,
                                           absl::Span<const Kernel> kernels,
                                           const BufferPlan& plan);

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_CALL_ORDER_H_
