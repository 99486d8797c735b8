// SPDX-License-Identifier: Apache-2.0
//
// What a rewrite gives is seen to be right: by Verify, and as kernels.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_VERIFIED_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_VERIFIED_H_

#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::rewrite {

// `program`, or why there is none, or why Verify or VerifyKernels cannot see
// that it is right.
absl::StatusOr<LoopProgram> Verified(absl::StatusOr<LoopProgram> program);

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_VERIFIED_H_
