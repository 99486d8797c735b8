// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/expression.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/array.h"
#include "ocannl/core/notation/habits.h"
#include "ocannl/core/notation/number.h"
#include "ocannl/core/notation/operations.h"
#include "ocannl/core/notation/size_rules.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl {
namespace {

// Deep enough for any expression worth writing, shallow enough for any stack.
constexpr int kMaxDepth = 200;
// They take a second to compile. Nobody writes longer texts by hand.
constexpr int kMaxOperations = 10'000;

}  // namespace

absl::StatusOr<ParsedTensor> ExpressionParser::Parse() {
  OCANNL_ASSIGN_OR_RETURN(Tensor tensor, Expression(1, 0));
  if (lexer_.peek().kind != Token::kEnd) {
    return Unexpected(lexer_, "an operator or the end of the text");
  }
  return ParsedTensor{.tensor = tensor, .parameters = parameters_.list()};
}

absl::StatusOr<Tensor> ExpressionParser::Checked(
    Tensor tensor, size_t offset, absl::string_view symbol) const {
  if (!scope_.is_trial()) {
    OCANNL_RETURN_IF_ERROR(CheckNoError(lexer_, offset, tensor, symbol));
  }
  return tensor;
}

absl::Status ExpressionParser::CountOperation(size_t offset) {
  if (++operations_ <= kMaxOperations) return absl::OkStatus();
  return lexer_.ErrorAt(offset, "the expression has more than ", kMaxOperations,
                        " operations; make a part of it a tensor of its "
                        "own");
}

absl::Status ExpressionParser::CheckDepth(int depth) const {
  if (depth <= kMaxDepth) return absl::OkStatus();
  return lexer_.Error(
      "the expression is nested too deeply; make a part of it a tensor of its "
      "own");
}

absl::StatusOr<Tensor> ExpressionParser::Expression(int precedence, int depth) {
  OCANNL_RETURN_IF_ERROR(CheckDepth(depth));
  const Token first = lexer_.peek();
  Tensor left;
  if (IsNext(lexer_, "(") && brackets_->AtArray(lexer_) &&
      !brackets_->AtNumbers(lexer_)) {
    OCANNL_ASSIGN_OR_RETURN(left, Tuple(precedence, depth));
  } else {
    OCANNL_ASSIGN_OR_RETURN(left, Operand(depth));
  }
  bool compares = false;  // what is to the left
  while (lexer_.peek().kind == Token::kSymbol) {
    const InfixOperator* infix = FindInfix(lexer_.peek().text);
    if (infix == nullptr || infix->precedence < precedence) break;
    if (compares && infix->compares()) {
      return lexer_.Error(kComparisonsDoNotChain);
    }
    compares = infix->compares();
    if (infix->op == Op::kPow && first.text == "-") {
      const size_t power = lexer_.Next().offset;
      OCANNL_RETURN_IF_ERROR(Expression(infix->precedence, depth + 1).status());
      return SignOfPower(lexer_, first.offset, infix->symbol, power);
    }
    OCANNL_ASSIGN_OR_RETURN(left, Infix(*infix, {Arg(left, where_)}, depth));
  }
  return left;
}

absl::StatusOr<Tensor> ExpressionParser::Tuple(int precedence, int depth) {
  const Token open = lexer_.peek();
  OCANNL_ASSIGN_OR_RETURN(std::vector<Tensor> parts, Elements(depth));
  const InfixOperator* infix = FindInfix(lexer_.peek().text);
  Lexer spec = lexer_;
  spec.Next();
  const auto wanted = 1 + absl::c_count(spec.peek().text, ';');
  const bool are_operands = infix != nullptr &&
                            infix->precedence >= precedence && infix->accum &&
                            spec.peek().kind == Token::kString &&
                            parts.size() == static_cast<size_t>(wanted);
  if (!are_operands) return Block(open, std::move(parts));
  std::vector<Arg> args;
  for (Tensor part : parts) args.emplace_back(part, where_);
  return Infix(*infix, std::move(args), depth);
}

absl::StatusOr<std::vector<Tensor>> ExpressionParser::Elements(int depth) {
  const absl::string_view close = ClosingOf(lexer_.Next().text);
  std::vector<Tensor> elements;
  do {
    if (!elements.empty() && IsNext(lexer_, close)) break;
    OCANNL_RETURN_IF_ERROR(CountOperation(lexer_.peek().offset));
    OCANNL_ASSIGN_OR_RETURN(elements.emplace_back(), Expression(1, depth + 1));
  } while (lexer_.Accept(",") || lexer_.Accept(";"));
  if (lexer_.Accept(close)) return elements;
  return Unexpected(lexer_,
                    absl::StrCat("an operator, `,`, `;` or `", close, "`"));
}

absl::StatusOr<Tensor> ExpressionParser::Block(const Token& open,
                                               std::vector<Tensor> parts) {
  if (scope_.is_trial()) return AnyTensor();
  return Checked(StackBlock(open.text, parts, where_), open.offset);
}

absl::StatusOr<Tensor> ExpressionParser::Infix(const InfixOperator& infix,
                                               std::vector<Arg> args,
                                               int depth) {
  const size_t offset = lexer_.Next().offset;
  OCANNL_RETURN_IF_ERROR(CountOperation(offset));
  if (infix.form == InfixOperator::kSlice) {
    OCANNL_ASSIGN_OR_RETURN(int32_t index, scope_.TakeStatic(lexer_));
    return Checked(Slice(args[0], index), offset);
  }
  const EinsumNumbers& numbers = scope_.names().numbers;
  absl::string_view spec;
  std::optional<Lexer> sizes;  // at the first rule
  size_t operands = infix.form == InfixOperator::kReduceOne ? 1 : 2;
  if (infix.accum) {
    OCANNL_ASSIGN_OR_RETURN(spec, TakeSpec(lexer_, infix, numbers, operands));
    sizes = lexer_;
    OCANNL_RETURN_IF_ERROR(TakeSizeRules(lexer_, scope_, std::nullopt, where_));
  }
  while (args.size() < operands) {
    int precedence = infix.precedence + (infix.right_associative() ? 0 : 1);
    OCANNL_ASSIGN_OR_RETURN(Tensor right, Expression(precedence, depth + 1));
    args.emplace_back(right, where_);
  }
  const Tensor made = ApplyInfix(infix, spec, std::move(args), numbers);
  OCANNL_ASSIGN_OR_RETURN(Tensor result, Checked(made, offset, infix.symbol));
  if (sizes) {
    OCANNL_RETURN_IF_ERROR(TakeSizeRules(*sizes, scope_, result, where_));
  }
  return result;
}

absl::StatusOr<Tensor> ExpressionParser::Operand(int depth) {
  OCANNL_RETURN_IF_ERROR(CheckDepth(depth));
  const size_t offset = lexer_.peek().offset;
  if (!lexer_.Accept("-") && !lexer_.Accept("~-")) return Primary(depth);
  if (lexer_.peek().kind == Token::kNumber) {
    return TakeNumber(lexer_, "-", offset, graph_, where_);
  }
  OCANNL_ASSIGN_OR_RETURN(Tensor operand, Operand(depth + 1));
  return Checked(Neg(Arg(operand, where_)), offset);
}

absl::StatusOr<Tensor> ExpressionParser::Primary(int depth) {
  const Token token = lexer_.peek();
  if (token.kind == Token::kNumber) {
    return TakeNumber(lexer_, "", token.offset, graph_, where_);
  }
  if (AtLet(lexer_)) return Let(depth);
  if (token.kind == Token::kName) return NamedOperand(depth);
  if (!AtOperand(lexer_, scope_)) return Unexpected(lexer_, "an operand");
  if (brackets_->AtBasis(lexer_)) {
    return TakeWithBasis(lexer_, *brackets_, graph_, where_);
  }
  if (brackets_->AtArray(lexer_) && !brackets_->AtNumbers(lexer_)) {
    OCANNL_ASSIGN_OR_RETURN(std::vector<Tensor> parts, Elements(depth));
    return Block(token, std::move(parts));
  }
  if (brackets_->AtArray(lexer_)) {
    OCANNL_ASSIGN_OR_RETURN(ArrayText array, ParseArray(lexer_, *brackets_));
    return Literal(graph_, array.shape, array.values, array.digits, where_);
  }
  if (token.text == "{") return Parameter(depth);
  lexer_.Next();
  if (token.kind == Token::kString) {
    return Checked(scope_.Placeholder(token.text, where_), token.offset);
  }
  if (token.text == "(") {
    OCANNL_ASSIGN_OR_RETURN(Tensor tensor, Expression(1, depth + 1));
    if (lexer_.Accept(")")) return tensor;
    return Unexpected(lexer_, "an operator or `)`");
  }
  if (token.text == "!@") {
    OCANNL_ASSIGN_OR_RETURN(int32_t index, scope_.TakeStatic(lexer_));
    return EmbedSymbol(graph_, index, where_);
  }
  bool whole = token.text == "!..";
  OCANNL_ASSIGN_OR_RETURN(double value,
                          TakeNamedNumber(lexer_, scope_.names(), whole));
  return ocannl::Number(graph_, value, where_);
}

absl::StatusOr<Tensor> ExpressionParser::NamedOperand(int depth) {
  if (auto tensor = scope_.FindGiven(lexer_.peek().text)) {
    lexer_.Next();
    return *tensor;
  }
  if (lexer_.peek().text == "inf" || lexer_.peek().text == "nan") {
    return TakeNumber(lexer_, "", lexer_.peek().offset, graph_, where_);
  }
  const Token name = lexer_.Next();
  if (std::optional<size_t> function = functions_.Find(name.text)) {
    return Expand(*function, name, depth);
  }
  if (const Function* function = FindFunction(name.text)) {
    return Call(*function, name.offset, depth);
  }
  if (auto tensor = scope_.FindInGraph(name.text)) return *tensor;
  if (auto number = scope_.FindNumber(name.text, where_)) return *number;
  const Function* operation =
      scope_.names().is_code ? FindOperation(name.text) : nullptr;
  if (operation != nullptr) return Call(*operation, name.offset, depth);
  return scope_.Unknown(lexer_, name, AtOperand(lexer_, scope_));
}

absl::StatusOr<Tensor> ExpressionParser::Call(const Function& function,
                                              size_t offset, int depth) {
  FunctionCall call = {.graph = &graph_,
                       .spec = "",
                       .args = {},
                       .parameter = initialised_,
                       .where = where_};
  bool is_list = false;  // f(a, b): no arguments follow the brackets
  if (lexer_.Accept("(")) {
    if (lexer_.peek().kind == Token::kString) {
      call.spec = std::string(lexer_.Next().text);
    } else if (function.needs_spec()) {
      return lexer_.ErrorAt(offset,
                            CallFunction(function, call).status().message());
    }
    while (!lexer_.Accept(")")) {
      const bool first = call.args.empty() && call.spec.empty();
      if (!first && !lexer_.Accept(",")) {
        return Unexpected(lexer_, "an operator, `,` or `)`");
      }
      OCANNL_ASSIGN_OR_RETURN(Tensor arg, Expression(1, depth + 1));
      call.args.emplace_back(arg, where_);
    }
    is_list = call.args.size() + (call.spec.empty() ? 0 : 1) != 1;
  } else if (function.takes_spec() && lexer_.peek().kind == Token::kString) {
    call.spec = std::string(lexer_.Next().text);
  }
  const auto most = static_cast<size_t>(function.max_args);
  while (!is_list && call.args.size() < most && AtOperand(lexer_, scope_)) {
    OCANNL_ASSIGN_OR_RETURN(Tensor arg, Operand(depth + 1));
    call.args.emplace_back(arg, where_);
  }
  if (IsNext(lexer_, "~")) {
    return lexer_.Error("`", function.name,
                        "` has no labels for its arguments; write ",
                        FunctionExample(function));
  }
  if (scope_.is_trial() && TakesSoMany(function, call)) return AnyTensor();
  absl::StatusOr<Tensor> result = CallFunction(function, call);
  if (result.ok()) return Checked(*result, offset);
  return lexer_.ErrorAt(offset, result.status().message(),
                        call.args.size() < most ? SignHint(lexer_) : "");
}

absl::StatusOr<Tensor> ExpressionParser::Parameter(int depth) {
  OCANNL_ASSIGN_OR_RETURN(Declaration declaration,
                          ParseDeclaration(lexer_, scope_.names(), *brackets_));
  // Reads the first value where it stands, further left.
  auto first_value = [&](Tensor parameter) {
    Lexer after = std::exchange(lexer_, *declaration.init);
    std::optional<Tensor> outer = std::exchange(initialised_, parameter);
    absl::StatusOr<Tensor> value = Expression(1, depth + 1);
    if (value.ok() && !IsNext(lexer_, ";") && !IsNext(lexer_, "}")) {
      value = Unexpected(lexer_, "an operator, `;` or `}`");
    }
    lexer_ = std::move(after);
    initialised_ = outer;
    return value;
  };
  return parameters_.Declare(lexer_, scope_, declaration, first_value);
}

}  // namespace ocannl
