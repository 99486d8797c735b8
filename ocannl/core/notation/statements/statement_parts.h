// SPDX-License-Identifier: Apache-2.0
//
// Parts of statements.h that need no other statement.
#ifndef OCANNL_CORE_NOTATION_STATEMENTS_STATEMENT_PARTS_H_
#define OCANNL_CORE_NOTATION_STATEMENTS_STATEMENT_PARTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/notation/statements/statements.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

// Takes the parameters ~v ~t1:_ x () and `end`. They need no meaning:
// statements use the same names.
absl::Status SkipParameters(Lexer& lexer, absl::string_view end);

// Takes Float.(momentum > 0.0), Float.equal p 2, momentum > 0 or nesterov, and
// returns whether it holds.
absl::StatusOr<bool> TakeCondition(Lexer& lexer, const Names& names);

// Whether the value names nothing but numbers.
bool IsOfNumbers(absl::string_view value, const Names& names);

// Takes the dtype and the rows after the name in { x: f64; o=[3] }, up to the
// bracket.
absl::Status TakeDeclaredShape(Lexer& lexer, const Names& names,
                               ShapeSpec& rows, std::optional<DType>& dtype);

// The texts let f x = ... in around a statement, of functions and numbers.
class LetTexts {
 public:
  void Push(size_t begin, size_t end) { lets_.push_back({begin, end}); }
  void Pop() { lets_.pop_back(); }

  // The value of `assign` is `text` from `begin` to `end`, behind the lets,
  // each at its place.
  void SetValue(absl::string_view text, size_t begin, size_t end,
                AssignStatement& assign) const;

 private:
  struct Range {
    size_t begin, end;
  };
  std::vector<Range> lets_;
};

// What x.forward and the like are.
std::optional<CodeStatement> CodeOf(const Token& name);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_STATEMENTS_STATEMENT_PARTS_H_
