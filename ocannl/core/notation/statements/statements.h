// SPDX-License-Identifier: Apache-2.0
//
// The notation of assignments: what code does with arrays, as text, like the
// source documents' %cd.
//
//   text -> Statements
//
//   ~~(p "param sgd step";
//      { sgd_delta } =: p.grad + (!.weight_decay *. p);
//      if Float.(momentum > 0.0) then (
//        { sgd_momentum } =: (!.momentum *. sgd_momentum) + sgd_delta;
//        if nesterov then sgd_delta =+ !.momentum *. sgd_momentum
//        else sgd_delta =: sgd_momentum);
//      p =- learning_rate * sgd_delta ~logic:".")
//
//   x =: e      sets x              x =+ e   adds to it; also - * / **, &&, ||
//   x =:+ e     from the neutral    @^ (greatest), @- (least), and the gates
//               element             ?/ and ?^: x = relu_gate(x, e)
//   { x } =: e  declares x, and     ~~(a "b"; ...)   says so, and does ...
//   "x" =: e    so does this        ~~(a "b"); ...   so does this
//   x =: e ~logic:"i => 2*i"        sets what the spec reaches; the rest stays
//   { x } like y                    declares the state x, at first zeros
//   x.forward; x.zero_grads; x.backprop              the code of a tensor
//   for p in params do s                             s for each of a list
//   { x; i=[2]; o=[3] } =: e        declares x with these rows
//   let d = e in s; t               d is e as it is here, in s and t only
//   let f a = e in s; t             f(x) is e, as in an expression
//
// Around statements may stand what is around them in OCaml: [%cd s],
// let%cd step ~p = s in step, fun ~v ~t1 -> s.
//
// Operations have names in values, too (operations.h): add(a, b), lt(a, b). A
// number p is p or p_t. (* A comment *) is skipped.
#ifndef OCANNL_CORE_NOTATION_STATEMENTS_STATEMENTS_H_
#define OCANNL_CORE_NOTATION_STATEMENTS_STATEMENTS_H_

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct AssignStatement {
  std::string target;  // "p", "p.grad"
  bool declares;       // { target }
  std::optional<Op> accum;
  bool reset;                        // to the neutral element of `accum` first
  std::string value;                 // an expression of the notation
  size_t value_offset;               // in the text
  std::optional<std::string> logic;  // ".", "@", "T" or a spec
  bool of_operation;                 // ~projections: those of a defined one
  size_t offset;                     // of the target in the text
  ShapeSpec rows = {};               // that a declaration says
  std::optional<DType> dtype = {};

  bool has_rows() const { return dtype || rows.rows != ShapeSpec().rows; }
};

// { target } like of
struct LikeStatement {
  std::string target;
  std::string of;  // a name, "p.grad"
  size_t offset, of_offset;
};

// The code of a tensor.
struct CodeStatement {
  enum Part : uint8_t { kForward, kZeroGrads, kBackprop };
  std::string tensor;
  Part part;
  size_t offset;
};

struct BlockStatement;
struct ForStatement;
struct LetStatement;

using Statement =
    std::variant<AssignStatement, LikeStatement, CodeStatement,
                 std::unique_ptr<BlockStatement>, std::unique_ptr<ForStatement>,
                 std::unique_ptr<LetStatement>>;

struct BlockStatement {
  std::vector<std::string> tensors;  // that the comment names, in its order
  std::vector<std::string> words;    // of the comment, tensors among them
  std::vector<Statement> body;
};

// What the body declares is of one tensor. Its values can name the numbers
// NAME.inputs and NAME.outputs: how many cells those rows of it have.
struct ForStatement {
  std::string name;  // of the tensor, in the body
  std::string list;  // of the names
  std::vector<Statement> body;
};

// An array of the value, which is named in the body only.
struct LetStatement {
  AssignStatement value;
  std::vector<Statement> body;
};

// The statements that `text` spells; of an `if`, those that the numbers of
// `names` choose. Errors, with line and column: what is not the notation, a
// condition on an unknown number.
absl::StatusOr<std::vector<Statement>> ParseStatements(absl::string_view text,
                                                       const Names& names);

// The value of `statement`, one of `text`, as ParseTensor reads it. Errors: as
// there, with the place in `text`.
absl::StatusOr<ParsedTensor> ParseValue(
    Graph& graph, absl::string_view text, const AssignStatement& statement,
    const Names& names, SourceLocation where = SourceLocation::Current());

// "line 2, column 5: <message>", InvalidArgument.
absl::Status ErrorAt(absl::string_view text, size_t offset,
                     absl::string_view message);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_STATEMENTS_STATEMENTS_H_
