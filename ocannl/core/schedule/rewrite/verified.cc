// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/verified.h"

#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/schedule/gpu/verify_kernels.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl::rewrite {

absl::StatusOr<LoopProgram> Verified(absl::Status rewritten,
                                     LoopProgram&& program) {
  OCANNL_RETURN_IF_ERROR(rewritten);
  absl::Status status = Verify(program);
  if (status.ok()) status = gpu::VerifyKernels(program);
  if (status.ok()) return std::move(program);
  return IllegalError("the result would break a rule of programs: ",
                      status.message());
}

}  // namespace ocannl::rewrite
