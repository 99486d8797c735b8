// SPDX-License-Identifier: Apache-2.0
//
// ValueParser: the values of .ll and .cd text, of which only the leaves differ.
// Their operators are those of the notation, of cells: * multiplies.
//
//   fma(w[i1], x, 0.5) + f32(3:i64)
#ifndef OCANNL_CORE_LOOP_VALUE_PARSER_H_
#define OCANNL_CORE_LOOP_VALUE_PARSER_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop_lexer.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl {

class ValueParser {
 protected:
  explicit ValueParser(LoopLexer lexer) : lexer_(std::move(lexer)) {}
  virtual ~ValueParser() = default;

  // What gets the values.
  virtual ExprPool& Pool() = 0;

  // A well-typed value, no deeper than core/ops/depth.h allows.
  absl::StatusOr<Expr> TakeValue();

  // What a name stands for that is no operation and no number, or a symbol
  // that starts no value here, such as "["; `first` is taken already.
  virtual absl::StatusOr<Expr> TakeLeaf(const Token& first) = 0;
  // What bits_<dtype>(value) is if no bitcast: a cell of that type as it is
  // stored, where `value` is the cell as it is computed with.
  virtual std::optional<Expr> AsStored(Expr, DType) { return std::nullopt; }

  template <class Place, class... Parts>
  absl::Status ErrorAt(const Place& place, const Parts&... parts) const {
    return lexer_.ErrorAt(place, parts...);
  }

  LoopLexer lexer_;

 private:
  absl::StatusOr<Expr> Value(int precedence, int depth);
  // What `infix` makes of `args`. Error: it is of tensors only.
  absl::StatusOr<Expr> Infix(const InfixOperator& infix, std::vector<Expr> args,
                             size_t offset);
  absl::StatusOr<Expr> Primary(int depth);
  absl::StatusOr<Expr> Negative(size_t offset, int depth);
  absl::StatusOr<Expr> Number(absl::string_view sign, size_t offset);
  absl::StatusOr<Expr> Call(const Token& name, int depth);
  absl::StatusOr<Expr> Checked(Op op, const std::vector<Expr>& args,
                               DType wanted, size_t offset);

  NodeMap<int> depths_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_VALUE_PARSER_H_
