// SPDX-License-Identifier: Apache-2.0
//
// PrintCd: Assignments as .cd text; parse.h reads it back.
//
//   step (i : [0..79]):
//     w : f32[3, 2] on_device "a parameter";
//     ...
//     /* result fwd */
//     n35 =:+ w * x ~logic:"i, k; j, k => j, i";
#ifndef OCANNL_CORE_CD_PRINT_H_
#define OCANNL_CORE_CD_PRINT_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "ocannl/core/assign/ir.h"

namespace ocannl {

// The whole code: its arrays, with the numbers of literals but not of inputs,
// and where their tensors were made; and exactly what is executed.
// ParseCd(PrintCd(c)) == c (equal.h).
std::string PrintCd(const Assignments& code);

// The same with `remark`, unless it is empty, behind each array.
std::string PrintCd(const Assignments& code,
                    absl::FunctionRef<std::string(const Array&)> remark);

// The code with a comment before each assignment: its line in PrintCd, what it
// is, and where its tensor was made: `12: b =: a * 2, mlp.cc:7`. Loops that it
// is lowered to can be led back by them.
Assignments WithOrigins(const Assignments& code);

}  // namespace ocannl

#endif  // OCANNL_CORE_CD_PRINT_H_
