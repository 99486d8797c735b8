// SPDX-License-Identifier: Apache-2.0
//
// Verifies some statements of a program, without the cost of verifying all of
// it.
#ifndef OCANNL_CORE_SCHEDULE_CPU_VERIFY_PART_H_
#define OCANNL_CORE_SCHEDULE_CPU_VERIFY_PART_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// VerifyPart (loop/verify.h) of these statements, with these roles of buffers
// that are neither private nor `inout`.
absl::Status VerifyAmong(
    const LoopProgram& program, const Block& block,
    absl::FunctionRef<Role(BufferId buffer, Role role)> role_of);

// Error: Verify cannot prove that `block` writes every cell of its targets
// before it reads the cell, and all of their cells in the end.
absl::Status VerifyAlone(const LoopProgram& program, const Block& block);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_VERIFY_PART_H_
