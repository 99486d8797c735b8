// SPDX-License-Identifier: Apache-2.0
//
// What the names of a spec stand for, where the text says so behind it:
//
//   x ++ "i, ..v.., j => 0" ["i" = 3; "..v.." = [2, n]; "j" : size]
#ifndef OCANNL_CORE_NOTATION_SIZE_RULES_H_
#define OCANNL_CORE_NOTATION_SIZE_RULES_H_

#include <optional>

#include "absl/status/status.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// Takes such rules, if they are next. If `of` is given, whose operation has the
// spec, they hold for it, and `scope` has the sizes that they name. Errors:
// what is no rule; no such name in the spec; a size whose name is taken.
absl::Status TakeSizeRules(Lexer& lexer, Scope& scope, std::optional<Tensor> of,
                           SourceLocation where);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_SIZE_RULES_H_
