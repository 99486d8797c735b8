// SPDX-License-Identifier: Apache-2.0
//
// Names and functions that a text defines: `let`.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/expression.h"
#include "ocannl/core/notation/habits.h"

namespace ocannl {

absl::Status ExpressionParser::Define(int depth) {
  OCANNL_ASSIGN_OR_RETURN(LetHead head, TakeLet(lexer_));
  const std::string name(head.name.text);
  if (head.arguments.empty()) {
    const int32_t first = graph_.size();
    OCANNL_ASSIGN_OR_RETURN(Tensor value, Expression(1, depth));
    OCANNL_ASSIGN_OR_RETURN(
        value, Checked(NamedAnew(value, first, name), head.name.offset));
    scope_.Bind(name, value);
  } else {
    const Lexer body = lexer_;
    OCANNL_ASSIGN_OR_RETURN(lexer_, TryBody(head.arguments, depth));
    functions_.Add({name, std::move(head.arguments), body,
                    std::move(head.labels), scope_.num_bound()});
    scope_.Bind(name, std::nullopt);
  }
  return TakeClosing(lexer_, "an operator", "in");
}

absl::StatusOr<Tensor> ExpressionParser::Let(int depth) {
  const size_t bound = scope_.num_bound();
  const size_t known = functions_.known();
  while (AtLet(lexer_)) OCANNL_RETURN_IF_ERROR(Define(depth + 1));
  OCANNL_ASSIGN_OR_RETURN(Tensor tensor, Expression(1, depth + 1));
  functions_.SetKnown(known);
  scope_.Unbind(bound);
  return tensor;
}

absl::StatusOr<Lexer> ExpressionParser::TryBody(
    const std::vector<std::string>& names, int depth) const {
  const Graph::Mark before = graph_.mark();
  ExpressionParser trial = *this;
  trial.scope_.StartTrial(names, AnyTensor());
  const absl::Status status = trial.Expression(1, depth).status();
  graph_.RollBack(before);
  if (!status.ok()) return status;
  return trial.lexer_;
}

absl::StatusOr<Tensor> ExpressionParser::Expand(size_t function,
                                                const Token& name, int depth) {
  const TensorFunction called = functions_[function];
  OCANNL_ASSIGN_OR_RETURN(Arguments args, TakeArguments(called, name, depth));
  OCANNL_RETURN_IF_ERROR(CountOperation(name.offset));
  if (scope_.is_trial()) return AnyTensor();
  const int32_t first = graph_.size();
  const std::string label = called.Label(args);
  Lexer after = std::exchange(lexer_, called.body);
  Bindings outer = scope_.Enter(called.bound, args);
  TensorFunctions known = functions_;
  functions_.SetKnown(function);
  absl::StatusOr<Tensor> value = Expression(1, depth + 1);
  if (value.ok() && !AtIn(lexer_)) {
    value = Unexpected(lexer_, "an operator or `in`");
  }
  functions_ = std::move(known);
  scope_.Leave(std::move(outer));
  lexer_ = std::move(after);
  if (!value.ok()) return value;
  return Checked(NamedAnew(*value, first, label), name.offset);
}

absl::StatusOr<Arguments> ExpressionParser::TakeArguments(
    const TensorFunction& called, const Token& name, int depth) {
  const size_t count = called.arguments.size();
  Arguments given;
  if (lexer_.Accept("(")) {
    do {
      OCANNL_RETURN_IF_ERROR(TakeArgument(true, depth, given));
      if (given.size() > count) return lexer_.ErrorAt(name, called.Usage());
    } while (lexer_.Accept(","));
    if (!lexer_.Accept(")")) {
      return Unexpected(lexer_, "an operator, `,` or `)`");
    }
  }
  while (given.size() < count) {
    if (!IsNext(lexer_, "~") && !AtOperand(lexer_, scope_)) {
      return lexer_.ErrorAt(name, called.Usage(), SignHint(lexer_));
    }
    OCANNL_RETURN_IF_ERROR(TakeArgument(false, depth, given));
  }
  absl::StatusOr<Arguments> matched = called.Match(given);
  if (matched.ok()) return matched;
  return lexer_.ErrorAt(name, matched.status().message());
}

absl::Status ExpressionParser::TakeArgument(bool in_brackets, int depth,
                                            Arguments& given) {
  std::string label;
  if (lexer_.Accept("~")) {
    const Lexer start = lexer_;
    OCANNL_ASSIGN_OR_RETURN(Token name, TakeName(lexer_, "a label"));
    label = std::string(name.text);
    if (!lexer_.Accept(":")) lexer_ = start;  // it names a tensor, too
    in_brackets = false;
  }
  absl::StatusOr<Tensor> value =
      in_brackets ? Expression(1, depth + 1) : Operand(depth + 1);
  OCANNL_RETURN_IF_ERROR(value.status());
  given.emplace_back(std::move(label), *value);
  return absl::OkStatus();
}

}  // namespace ocannl
