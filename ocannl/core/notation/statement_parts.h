// SPDX-License-Identifier: Apache-2.0
//
// Parts of statements.h that need no other statement.
#ifndef OCANNL_CORE_NOTATION_STATEMENT_PARTS_H_
#define OCANNL_CORE_NOTATION_STATEMENT_PARTS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/notation/statements.h"

namespace ocannl {

// Takes the parameters ~v ~t1:_ x () and `end`: what they name, statements name
// as well.
absl::Status SkipParameters(Lexer& lexer, absl::string_view end);

// Takes Float.(momentum > 0.0), Float.equal p 2, momentum > 0 or nesterov, and
// returns whether it holds.
absl::StatusOr<bool> TakeCondition(Lexer& lexer, const Names& names);

// Whether the value names nothing but numbers.
bool IsOfNumbers(absl::string_view value, const Names& names);

// What x.forward and the like are.
std::optional<CodeStatement> CodeOf(const Token& name);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_STATEMENT_PARTS_H_
