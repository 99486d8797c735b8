// SPDX-License-Identifier: Apache-2.0
//
// Reads expressions of the notation by recursive descent, operators by
// precedence climbing. expression_let.cc has names and functions of the text.
#ifndef OCANNL_CORE_NOTATION_EXPRESSION_H_
#define OCANNL_CORE_NOTATION_EXPRESSION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/notation/array.h"
#include "ocannl/core/notation/declaration.h"
#include "ocannl/core/notation/function.h"
#include "ocannl/core/notation/let.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

class ExpressionParser {
 public:
  // `text` has no comments. All but `where` must outlive the parser.
  ExpressionParser(Graph& graph, absl::string_view text, const Names& names,
                   SourceLocation where)
      : graph_(graph),
        scope_(graph, names),
        where_(where),
        lexer_(text, NotationSymbols()),
        parameters_(graph, where) {}

  // All of the text: see ParseTensor.
  absl::StatusOr<ParsedTensor> Parse();

 private:
  // What the graph made of something, maybe of an operator, or its error.
  absl::StatusOr<Tensor> Checked(Tensor tensor, size_t offset,
                                 absl::string_view symbol = "") const;
  // let y = ... in, or let f x = ... in.
  absl::Status Define(int depth);
  // let ... in let ... in e, where the scope of the names ends.
  absl::StatusOr<Tensor> Let(int depth);
  // Reads a function's body once, without its arguments, and returns its end.
  // Errors: all but the graph's, also if nothing calls the function.
  absl::StatusOr<Lexer> TryBody(const std::vector<std::string>& names,
                                int depth) const;
  // A call of a function of the text: its body with the arguments that follow
  // its name, f(a, b) or f a b.
  absl::StatusOr<Tensor> Expand(size_t function, const Token& name, int depth);
  // Takes the arguments of `called`, (a, b), a b or ~label:a ~b. `name` is its
  // name in the call.
  absl::StatusOr<Arguments> TakeArguments(const TensorFunction& called,
                                          const Token& name, int depth);
  // ~label:a, ~a or a; in brackets, a may be any expression.
  absl::Status TakeArgument(bool in_brackets, int depth, Arguments& given);
  absl::Status CountOperation(size_t offset);
  absl::Status CheckDepth(int depth) const;
  // Precedence climbing: operators of at least `precedence` and their operands.
  absl::StatusOr<Tensor> Expression(int precedence, int depth);
  // (a, b) ++^ "spec": the elements are the operands if the spec has as many
  // operands; else they are a block.
  absl::StatusOr<Tensor> Tuple(int precedence, int depth);
  // Takes a bracket, the expressions in it and the closing bracket.
  absl::StatusOr<std::vector<Tensor>> Elements(int depth);
  absl::StatusOr<Tensor> Block(const Token& open, std::vector<Tensor> parts);
  // Applies an operator to `args` and its right operands.
  absl::StatusOr<Tensor> Infix(const InfixOperator& infix,
                               std::vector<Arg> args, int depth);
  absl::StatusOr<Tensor> Operand(int depth);
  absl::StatusOr<Tensor> Primary(int depth);
  // A tensor's name, or a function and its arguments.
  absl::StatusOr<Tensor> NamedOperand(int depth);
  absl::StatusOr<Tensor> Call(const Function& function, size_t offset,
                              int depth);
  absl::StatusOr<Tensor> Parameter(int depth);
  Tensor AnyTensor() const { return ocannl::Number(graph_, 1, where_); }

  Graph& graph_;
  Scope scope_;
  SourceLocation where_;
  Lexer lexer_;
  // Of all the text, also for trials of parts of it.
  std::shared_ptr<BracketTable> brackets_ = std::make_shared<BracketTable>();
  ParameterTable parameters_;
  TensorFunctions functions_;
  int operations_ = 0;
  std::optional<Tensor> initialised_;  // whose first value is being read
};

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_EXPRESSION_H_
