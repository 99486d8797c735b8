// SPDX-License-Identifier: Apache-2.0
//
// Names for parts of an expression, in front of it, as the source documents
// bind them:
//
//   let mlp x = {w2} * relu({b1; o=[16]} + {w1} * x) in
//   let y = mlp points in                          y is named mlp_points
//   relu(1 - labels *. y)
//
//   let l2 ~output ~target:t = (output - t) ** 2 in l2 y ~target:(2 *. x)
//
// A `let` is an expression, and may hide other names: the innermost definition
// counts. Labelled arguments come in any order; `~y` is `~y:y`.
// A function of tensors declares its parameters once, however often it is
// called. Its body knows the names before it. It is read at each call, and once
// before, for the errors that do not depend on its arguments.
#ifndef OCANNL_CORE_NOTATION_LET_H_
#define OCANNL_CORE_NOTATION_LET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

struct LetHead {
  Token name;
  std::vector<std::string> arguments;  // none: it is a tensor
  std::vector<std::string> labels;     // of the arguments; empty: none
};

// Whether next is `let` or `let%op`, and no tensor of the name `let`.
bool AtLet(Lexer lexer);
// Takes `let f x ~y ~label:z =`. Errors: another text; two arguments of one
// name; `let rec`.
absl::StatusOr<LetHead> TakeLet(Lexer& lexer);
// Whether next is the `in` of a let.
bool AtIn(const Lexer& lexer);
// Whether an operand can start at the next token, of which `in` is none unless
// something has that name.
bool AtOperand(const Lexer& lexer, const Scope& scope);

// `value` under `name` if it is new, not before node `first`, and has none.
Tensor NamedAnew(Tensor value, int32_t first, const std::string& name);

struct TensorFunction {
  std::string name;
  std::vector<std::string> arguments;
  Lexer body;                            // at its first token
  std::vector<std::string> labels = {};  // of the arguments; empty: none
  size_t bound = 0;  // how many bound names (scope.h) it knows

  std::string LabelOf(size_t argument) const;
  // What the arguments stand for: of `given`, each with its label, as many as
  // there are. Without any labels, they are in order. Error, without its place:
  // a label that the function does not have, that is given twice or missing.
  absl::StatusOr<Arguments> Match(const Arguments& given) const;
  // "f_x_y": what the result is named.
  std::string Label(const Arguments& given) const;
  // "`f` takes 2 arguments; write f(x, y)"
  std::string Usage() const;
};

// The functions of a text, in its order. The last ones may be unknown: a body
// does not know its own function or later ones, and a scope may have ended.
class TensorFunctions {
 public:
  // Forgets the unknown functions.
  void Add(TensorFunction function);
  // The last one of that name.
  std::optional<size_t> Find(absl::string_view name) const;
  const TensorFunction& operator[](size_t k) const { return functions_[k]; }
  size_t known() const { return known_; }
  // Makes the first `known` ones known; returns how many were.
  size_t SetKnown(size_t known);

 private:
  std::vector<TensorFunction> functions_;
  size_t known_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_LET_H_
