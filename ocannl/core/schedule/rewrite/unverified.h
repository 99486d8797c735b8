// SPDX-License-Identifier: Apache-2.0
//
// The rewrites of rewrite.h, but that Verify has not seen what they give: a
// script of many is verified once. The program is one that it accepts, or that
// one of these functions gave.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_

#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite::unverified {

Rewritten Split(LoopProgram program, IteratorId loop, int64_t size);
Rewritten Reorder(LoopProgram program, absl::Span<const IteratorId> order);
Rewritten Vectorize(LoopProgram program, IteratorId loop);
Rewritten UnrollJam(LoopProgram program, IteratorId loop, int64_t factor);
Rewritten Cut(LoopProgram program, IteratorId loop, int64_t at);
Rewritten Distribute(LoopProgram program, IteratorId loop);
Rewritten Collapse(LoopProgram program, IteratorId outer, IteratorId inner);
Rewritten Privatize(LoopProgram program, absl::string_view buffer,
                    IteratorId first, IteratorId last);
Rewritten Pack(LoopProgram program, absl::string_view buffer, IteratorId loop);
Rewritten Parallel(LoopProgram program, IteratorId loop);
Rewritten Fuse(LoopProgram program, IteratorId first, IteratorId second);
Rewritten ZeroLoops(LoopProgram program, absl::string_view buffer);
Rewritten Bind(LoopProgram program, IteratorId loop, LoopKind kind);
Rewritten Stage(LoopProgram program, absl::string_view buffer, IteratorId loop);
Rewritten Demote(LoopProgram program);
Rewritten ContractArray(LoopProgram program, absl::string_view buffer,
                        IteratorId loop);
Rewritten CrossThread(LoopProgram program, IteratorId loop);
Rewritten SplitReduce(LoopProgram program, IteratorId loop);

}  // namespace ocannl::rewrite::unverified

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_
