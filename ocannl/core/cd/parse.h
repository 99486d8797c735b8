// SPDX-License-Identifier: Apache-2.0
//
// ParseCd: .cd text as Assignments, what print.h writes.
//
//   slope (i : [0..3]):
//     x : f32[4, 8] on_device "data"; w : f32[8] on_device "a parameter";
//     y : f32[8] materialized "the result";
//     y =: x * w ~logic:"!@i, j; j => j";
//
// Declarations: `name : dtype[sizes]`, then `merge` if it is in the merge
// buffer, a memory mode and who asks for it, and the numbers of a literal.
// Assignments: an operator (notation/operators.h), a value as in .ll but for
// its leaves, and `~logic:"spec"` (form.h) unless it is pointwise. Leaves:
// `array`, at the cell of its slot in the spec; `[i + 8*j]`, an index as a
// number; `!@i`, a static index. In `table[ids]`, the cell of `ids` indexes the
// axis that is `@` in the slot of the table. `bits_bf16(array)` is a cell of
// bf16 as it is stored; otherwise a value has it as f32. `else -inf` after a
// slot is the value outside of the array. /* comments */ are kept; `#` starts a
// remark that is not.
#ifndef OCANNL_CORE_CD_PARSE_H_
#define OCANNL_CORE_CD_PARSE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/assign/ir.h"

namespace ocannl {

// Errors name line, column, what was found and what was expected. The result
// keeps the rules of verify.h.
absl::StatusOr<Assignments> ParseCd(absl::string_view text);

}  // namespace ocannl

#endif  // OCANNL_CORE_CD_PARSE_H_
