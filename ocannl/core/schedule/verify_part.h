// SPDX-License-Identifier: Apache-2.0
//
// Verify of statements, in the place of all of a program: takes no time for the
// others.
#ifndef OCANNL_CORE_SCHEDULE_VERIFY_PART_H_
#define OCANNL_CORE_SCHEDULE_VERIFY_PART_H_

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/legality.h"

namespace ocannl {

absl::flat_hash_set<BufferId> WrittenIn(const LoopProgram& program,
                                        const Block& block);

// What Verify says of the program with this body and these roles of buffers
// that are not private, or VerifyPromises (core/analysis/promises.h) where
// rewrites prove what they do. The program is the same afterwards.
absl::Status VerifyPart(
    LoopProgram& program, Block body,
    absl::FunctionRef<Role(BufferId buffer, Role role)> role_of,
    rewrite::Legality legality = rewrite::Legality::kTrust);

// Error: Verify does not see that every cell that `block` reads, of what it
// writes, is written in it before, and in the end all of them are.
absl::Status VerifyAlone(LoopProgram& program, const Block& block);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_VERIFY_PART_H_
