// SPDX-License-Identifier: Apache-2.0
//
// The rewrites of rewrite.h, but that Verify has not seen what they give: a
// script of many is verified once. The program is one that it accepts, or that
// one of these functions gave.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_

#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite::unverified {

Rewritten Split(LoopProgram program, int32_t loop, int64_t size);
Rewritten Reorder(LoopProgram program, absl::Span<const int32_t> order);
Rewritten Vectorize(LoopProgram program, int32_t loop);
Rewritten UnrollJam(LoopProgram program, int32_t loop, int64_t factor);
Rewritten Privatize(LoopProgram program, absl::string_view buffer,
                    int32_t loop);
Rewritten Pack(LoopProgram program, absl::string_view buffer, int32_t loop);
Rewritten Parallel(LoopProgram program, int32_t loop);
Rewritten Fuse(LoopProgram program, int32_t first, int32_t second);
Rewritten SplitReduce(LoopProgram program, int32_t loop);

}  // namespace ocannl::rewrite::unverified

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_
