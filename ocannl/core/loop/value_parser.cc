// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/value_parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/operations.h"
#include "ocannl/core/ops/depth.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {
namespace {

constexpr absl::string_view kTooDeep =
    "the value is nested too deeply; make a part of it a local";

// The operands, with numbers, 0 and 1, for the bools that meet some, or that
// `op` does not take: of the dtype of the others, f32 if there are none.
std::vector<Expr> WithBoolsCounted(Op op, std::vector<Expr> args) {
  auto is_bool = [](const Expr& arg) { return arg.dtype() == DType::kBool; };
  const auto first = args.begin() + (op == Op::kSelect && !args.empty());
  const auto number = std::find_if_not(first, args.end(), is_bool);
  const bool all = number == args.end();
  const Typing typing = Info(op).typing;
  if (typing == Typing::kBitcast) return args;
  if (all && Accepts(typing, DType::kBool)) return args;
  const DType dtype = all ? DType::kF32 : number->dtype();
  for (auto arg = first; arg != args.end(); ++arg) {
    if (is_bool(*arg)) *arg = Convert(*arg, dtype);
  }
  return args;
}

}  // namespace

absl::StatusOr<Expr> ValueParser::TakeValue() {
  const size_t offset = lexer_.peek().offset;
  OCANNL_ASSIGN_OR_RETURN(Expr value, Value(1, 0));
  if (DepthOf(Pool(), value.id(), depths_) > kMaxValueDepth) {
    return ErrorAt(offset, kTooDeep);
  }
  return value;
}

// Precedence climbing: operators of at least `precedence`.
absl::StatusOr<Expr> ValueParser::Value(int precedence, int depth) {
  OCANNL_ASSIGN_OR_RETURN(Expr left, Primary(depth));
  bool compares = false;  // what is to the left
  while (true) {
    const Token token = lexer_.peek();
    const InfixOperator* infix =
        token.kind == Token::kSymbol ? FindInfix(token.text) : nullptr;
    if (infix == nullptr || infix->precedence < precedence) return left;
    if (compares && infix->compares()) {
      return ErrorAt(token.offset, kComparisonsDoNotChain);
    }
    compares = infix->compares();
    lexer_.Next();
    const int bound = infix->precedence + (infix->right_associative() ? 0 : 1);
    OCANNL_ASSIGN_OR_RETURN(Expr right, Value(bound, depth + 1));
    OCANNL_ASSIGN_OR_RETURN(left, Infix(*infix, {left, right}, token.offset));
  }
}

absl::StatusOr<Expr> ValueParser::Infix(const InfixOperator& infix,
                                        std::vector<Expr> args, size_t offset) {
  switch (infix.form) {
    case InfixOperator::kSwapped:
      std::swap(args[0], args[1]);
      break;
    case InfixOperator::kLogical:
      for (Expr& arg : args) {
        if (arg.dtype() != DType::kBool) arg = NotEqual(arg, 0);
      }
      break;
    case InfixOperator::kCompose:  // of cells
      return Checked(Op::kMul, args, DType::kF32, offset);
    case InfixOperator::kPointwise:
      break;
    default:
      return ErrorAt(offset, "`", infix.symbol, "` is of tensors, and values ",
                     "here are of cells; write another operator");
  }
  return Checked(*infix.op, args, DType::kF32, offset);
}

absl::StatusOr<Expr> ValueParser::Checked(Op op,
                                          const std::vector<Expr>& operands,
                                          DType wanted, size_t offset) {
  const std::vector<Expr> args = WithBoolsCounted(op, operands);
  std::vector<DType> types;
  for (const Expr& arg : args) types.push_back(arg.dtype());
  absl::StatusOr<DType> type = ResultType(op, types, wanted);
  if (!type.ok()) return ErrorAt(offset, type.status().message());
  return ApplyOp(op, args, wanted);
}

absl::StatusOr<Expr> ValueParser::Primary(int depth) {
  if (depth > kMaxValueDepth) return lexer_.Error(kTooDeep);
  const Token token = lexer_.peek();
  if (lexer_.Accept("(")) {
    OCANNL_ASSIGN_OR_RETURN(Expr value, Value(1, depth + 1));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(")"));
    return value;
  }
  if (lexer_.Accept("-")) return Negative(token.offset, depth);
  if (token.kind == Token::kNumber) return Number("", token.offset);
  if (token.text == "[" || token.text == "!@") return TakeLeaf(lexer_.Next());
  if (!lexer_.AtName()) return lexer_.ExpectedError("a value");
  const bool is_quoted = token.kind == Token::kString;
  if (!is_quoted && (token.text == "inf" || token.text == "nan")) {
    return Number("", token.offset);
  }
  lexer_.Next();
  if (!is_quoted && (token.text == "true" || token.text == "false")) {
    return Literal(Pool(), DType::kBool, token.text == "true");
  }
  if (!is_quoted && lexer_.peek().text == "(") return Call(token, depth);
  return TakeLeaf(token);
}

absl::StatusOr<Expr> ValueParser::Negative(size_t offset, int depth) {
  const Token& next = lexer_.peek();
  const bool is_infinite = next.kind == Token::kName && next.text == "inf";
  if (next.kind == Token::kNumber || is_infinite) {
    return Number("-", offset);
  }
  OCANNL_ASSIGN_OR_RETURN(Expr value, Primary(depth + 1));
  return Checked(Op::kNeg, {value}, value.dtype(), offset);
}

// A number with its dtype: 0.5, 3:i64.
absl::StatusOr<Expr> ValueParser::Number(absl::string_view sign,
                                         size_t offset) {
  std::string text = absl::StrCat(sign, lexer_.Next().text);
  DType dtype = DType::kF32;
  if (lexer_.Accept(":")) {
    OCANNL_ASSIGN_OR_RETURN(dtype, lexer_.TakeDType());
  }
  if (std::optional<Constant> constant = ParseConstant(text, dtype)) {
    return FromConstant(Pool(), *constant);
  }
  return ErrorAt(
      offset, "`", text, "` is not a number that ", Name(dtype),
      " can hold; write another dtype, as in 2:i64, or another number");
}

absl::StatusOr<Expr> ValueParser::Call(const Token& name, int depth) {
  std::vector<Expr> args;
  OCANNL_RETURN_IF_ERROR(lexer_.Expect("("));
  while (!lexer_.Accept(")")) {
    if (!args.empty()) OCANNL_RETURN_IF_ERROR(lexer_.Expect(","));
    OCANNL_ASSIGN_OR_RETURN(Expr arg, Value(1, depth + 1));
    args.push_back(arg);
  }
  absl::string_view type = name.text;
  bool bits = absl::ConsumePrefix(&type, "bits_");
  if (std::optional<DType> dtype = FindDType(type)) {
    if (bits && args.size() == 1) {
      if (std::optional<Expr> cell = AsStored(args[0], *dtype)) return *cell;
    }
    return Checked(bits ? Op::kBitcast : Op::kConvert, args, *dtype,
                   name.offset);
  }
  if (std::optional<Op> op = FindOp(name.text)) {
    return Checked(*op, args, DType::kF32, name.offset);
  }
  const InfixOperator* infix = FindNamedInfix(name.text);
  if (infix != nullptr && args.size() == 2) {
    return Infix(*infix, std::move(args), name.offset);
  }
  if (name.text == "id" && args.size() == 1) return args[0];
  std::vector<std::string> all;
  for (Op op : AllOps()) all.emplace_back(Info(op).text);
  return ErrorAt(name, "no operation `", name.text, "`",
                 NearNamesHint(name.text, all),
                 "; see ocannl/core/ops/README.md");
}

}  // namespace ocannl
