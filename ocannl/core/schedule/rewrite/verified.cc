// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/verified.h"

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/schedule/gpu/verify_kernels.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl::rewrite {

absl::StatusOr<LoopProgram> Verified(absl::StatusOr<LoopProgram> program) {
  OCANNL_RETURN_IF_ERROR(program.status());
  absl::Status status = Verify(*program);
  if (status.ok()) status = gpu::VerifyKernels(*program);
  if (status.ok()) return program;
  return IllegalError("the result would break a rule of programs: ",
                      status.message());
}

}  // namespace ocannl::rewrite
