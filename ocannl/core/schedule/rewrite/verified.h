// SPDX-License-Identifier: Apache-2.0
//
// What a rewrite gives is seen to be right: by Verify, and as kernels.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_VERIFIED_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_VERIFIED_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::rewrite {

// The program that was `rewritten`, or why it was not, or why Verify or
// VerifyKernels cannot see that it is right.
absl::StatusOr<LoopProgram> Verified(absl::Status rewritten,
                                     LoopProgram&& program);

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_VERIFIED_H_
