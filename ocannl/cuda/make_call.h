// SPDX-License-Identifier: Apache-2.0
//
// MakeCall: a kernel of a module as a call of it.
#ifndef OCANNL_CUDA_MAKE_CALL_H_
#define OCANNL_CUDA_MAKE_CALL_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "ocannl/cuda/gpu.h"
#include "ocannl/cuda/kernel_text.h"

namespace ocannl::cuda {

// A call of the function `name` of `module`, which waits for none, with room
// for so many arguments. Errors: those of Module::Find; more arguments or
// blocks than a GPU takes.
absl::StatusOr<KernelCall> MakeCall(const Module& module, const Kernel& kernel,
                                    const std::string& name, size_t arguments);

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_MAKE_CALL_H_
