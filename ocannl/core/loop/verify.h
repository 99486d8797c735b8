// SPDX-License-Identifier: Apache-2.0
//
// Verify: what every LoopProgram must satisfy before anything runs it.
//
//  1. Names are well-formed and unique; sizes and extents are at least 1.
//  2. Each iterator belongs to one loop and is used only inside it; each local
//     is declared once, before its uses, in the same block or an outer one.
//  3. Every index stays inside its axis for all values of its symbols.
//  4. Types fit: operands, values and what they are stored to.
//  5. Nothing writes an `in` buffer, and no cell of an `out`, `temp` or
//     `private` buffer is read before it is written; every cell of an `out`
//     buffer is written.
//  6. One statement of the program's body alone uses a `private` buffer, and
//     each iteration of a `par` loop writes itself what it reads of it.
//  7. `par` and `vec` loops keep their promise: core/analysis/promises.h sees.
#ifndef OCANNL_CORE_LOOP_VERIFY_H_
#define OCANNL_CORE_LOOP_VERIFY_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Where a program breaks a rule, if that is in a statement or a buffer's
// declaration.
struct FaultPlace {
  std::optional<size_t> stmt = {};  // in preorder
  BufferId buffer = {};
};

// InvalidArgument names the first statement that breaks a rule, and how, or
// gives its place to who asks for it. Rule 5 is checked conservatively, by
// must_write.h (definite assignment).
absl::Status Verify(const LoopProgram& program, FaultPlace* place = nullptr);

// The same of the program with another body and other roles of its buffers.
absl::Status VerifyPart(const LoopProgram& program, const Block& body,
                        const IdVector<BufferId, Role>& roles);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_VERIFY_H_
