// SPDX-License-Identifier: Apache-2.0
//
// The rewrites of rewrite.h, in place, but that Verify has not seen what they
// give: a script of many is verified once. The program is one that it accepts,
// or that one of these functions gave; after an error it may be half rewritten.
// All but ZeroLoops, Collapse, Demote and Sink change only the statements of
// the program's body that the loops are in, and the buffers that those name.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_

#include "ocannl/core/schedule/rewrite/legality.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite::unverified {

absl::Status Split(LoopProgram& program, IteratorId loop, int64_t size);
absl::Status Reorder(LoopProgram& program, absl::Span<const IteratorId> order,
                     Legality legality = Legality::kProve);
absl::Status Vectorize(LoopProgram& program, IteratorId loop,
                       Legality legality = Legality::kProve);
absl::Status UnrollJam(LoopProgram& program, IteratorId loop, int64_t factor,
                       Legality legality = Legality::kProve);
absl::Status Cut(LoopProgram& program, IteratorId loop, int64_t at);
absl::Status Unroll(LoopProgram& program, IteratorId loop);
absl::Status Enclose(LoopProgram& program, IteratorId first, IteratorId last);
absl::Status Distribute(LoopProgram& program, IteratorId loop,
                        Legality legality = Legality::kProve);
absl::Status Collapse(LoopProgram& program, IteratorId outer, IteratorId inner);
absl::Status Privatize(LoopProgram& program, absl::string_view buffer,
                       IteratorId first, IteratorId last);
absl::Status Pack(LoopProgram& program, absl::string_view buffer,
                  IteratorId first, IteratorId last,
                  absl::Span<const IteratorId> along);
absl::Status Parallel(LoopProgram& program, IteratorId loop,
                      Legality legality = Legality::kProve);
absl::Status Fuse(LoopProgram& program, IteratorId first, IteratorId second,
                  Legality legality = Legality::kProve);
absl::Status ZeroLoops(LoopProgram& program, absl::string_view buffer);
absl::Status Bind(LoopProgram& program, IteratorId loop, LoopKind kind);
absl::Status Stage(LoopProgram& program, absl::string_view buffer,
                   IteratorId loop);
absl::Status Prefetch(LoopProgram& program, IteratorId loop);
absl::Status Demote(LoopProgram& program);
absl::Status ContractArray(LoopProgram& program, absl::string_view buffer,
                           IteratorId loop);
absl::Status CrossThread(LoopProgram& program, IteratorId loop);
// Changes nothing where it is an error.
absl::Status Sink(LoopProgram& program, IteratorId loop);
absl::Status SplitReduce(LoopProgram& program, IteratorId loop);

}  // namespace ocannl::rewrite::unverified

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_UNVERIFIED_H_
