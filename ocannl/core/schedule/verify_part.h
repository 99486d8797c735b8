// SPDX-License-Identifier: Apache-2.0
//
// Verifies some statements of a program, without the cost of verifying all of
// it.
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

// The result of Verify for the program with this body, and with these roles of
// buffers that are not private. If `legality` says that rewrites prove their
// legality, it is the result of VerifyPromises (core/analysis/promises.h). The
// program is unchanged afterwards.
absl::Status VerifyPart(
    LoopProgram& program, Block body,
    absl::FunctionRef<Role(BufferId buffer, Role role)> role_of,
    rewrite::Legality legality = rewrite::Legality::kTrust);

// Error: Verify cannot prove that `block` writes every cell of its targets
// before it reads the cell, and all of their cells in the end.
absl::Status VerifyAlone(LoopProgram& program, const Block& block);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_VERIFY_PART_H_
