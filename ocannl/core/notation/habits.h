// SPDX-License-Identifier: Apache-2.0
//
// Habits: what is written elsewhere, in NumPy, PyTorch or Python, and how it is
// written here. For the errors of texts that are not the notation.
//
//   clip(x, 0, 1)   ->   "; it is `minimum(maximum(x, 0), 1)`"
//
// The table is habits.def.
#ifndef OCANNL_CORE_NOTATION_HABITS_H_
#define OCANNL_CORE_NOTATION_HABITS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/lexer.h"

namespace ocannl {

// The part of a message for what is written as in a row of the table: "^",
// "sum(", ".T". Empty if there is none.
std::string HabitHint(absl::string_view written);

// The same for the unknown name `name`: sum, x.T, x.sum, pi.
std::string NameHabitHint(absl::string_view name, bool is_call);

// What the rows say: tests evaluate the expressions in it.
std::vector<absl::string_view> HabitTexts();

// Behind -x **. 2, of which the sign is outside in mathematics and would be
// inside here: how the two ways to read it are written. `power` is where
// `symbol` stands.
absl::Status SignOfPower(const Lexer& lexer, size_t sign,
                         absl::string_view symbol, size_t power);

// "expected <what>, found ..." at the next token, with what is known of it.
absl::Status Unexpected(const Lexer& lexer, absl::string_view what);

// The same where the spec of the operator `symbol`, such as `example`, must
// stand; maybe only the quotes are missing.
absl::Status NoSpec(const Lexer& lexer, absl::string_view symbol,
                    absl::string_view example);

// For a call with too few arguments, where a `-` is next: how an argument has
// one; else nothing.
std::string SignHint(const Lexer& lexer);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_HABITS_H_
