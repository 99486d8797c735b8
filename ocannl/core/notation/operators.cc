// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/operators.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/habits.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/scalars.h"

namespace ocannl {
namespace {

using Infix = InfixOperator;

constexpr Infix kInfixes[] = {
    {"||", 1, Infix::kLogical, Op::kOr, {}},
    {"&&", 2, Infix::kLogical, Op::kAnd, {}},
    {"|", 3, Infix::kPointwise, Op::kOr, {}},
    {"^", 4, Infix::kPointwise, Op::kXor, {}},
    {"&", 5, Infix::kPointwise, Op::kAnd, {}},
    {"<", 6, Infix::kPointwise, Op::kLess, {}},
    {"<=", 6, Infix::kPointwise, Op::kLessEqual, {}},
    {">", 6, Infix::kSwapped, Op::kLess, {}},
    {">=", 6, Infix::kSwapped, Op::kLessEqual, {}},
    {"=", 6, Infix::kPointwise, Op::kEqual, {}},
    {"==", 6, Infix::kPointwise, Op::kEqual, {}},
    {"<>", 6, Infix::kPointwise, Op::kNotEqual, {}},
    {"!=", 6, Infix::kPointwise, Op::kNotEqual, {}},
    {"@|", 7, Infix::kSlice, {}, {}},
    {"@^", 7, Infix::kPointwise, Op::kMax, {}},
    {"@-", 7, Infix::kPointwise, Op::kMin, {}},
    {"@^^", 7, Infix::kReduceOne, {}, Op::kMax},
    {"@^+", 7, Infix::kReducePair, Op::kAdd, Op::kMax},
    {"@--", 7, Infix::kReduceOne, {}, Op::kMin},
    {"@-+", 7, Infix::kReducePair, Op::kAdd, Op::kMin},
    {"<<", 8, Infix::kPointwise, Op::kShl, {}},
    {">>", 8, Infix::kPointwise, Op::kShr, {}},
    {"+", 9, Infix::kPointwise, Op::kAdd, {}},
    {"-", 9, Infix::kPointwise, Op::kSub, {}},
    {"+.", 9, Infix::kNumbers, Op::kAdd, {}},
    {"-.", 9, Infix::kNumbers, Op::kSub, {}},
    {"-?/", 9, Infix::kPointwise, Op::kReluGate, {}},
    {"-?^", 9, Infix::kPointwise, Op::kSat01Gate, {}},
    {"-@>", 9, Infix::kFirst, {}, {}},
    {"-/>", 9, Infix::kSecond, {}, {}},
    {"++", 9, Infix::kReduceOne, {}, Op::kAdd},
    {"++^", 9, Infix::kReduceMany, {}, Op::kAdd},
    {"+++", 9, Infix::kReducePair, Op::kAdd, Op::kAdd},
    {"+*", 9, Infix::kReduceMany, Op::kMul, Op::kAdd},
    {"*", 10, Infix::kCompose, {}, {}},
    {"*.", 10, Infix::kPointwise, Op::kMul, {}},
    {"/", 10, Infix::kPointwise, Op::kDiv, {}},
    {"/.", 10, Infix::kPointwise, Op::kDiv, {}},
    {"%", 10, Infix::kPointwise, Op::kRem, {}},
    {"**", 11, Infix::kPointwise, Op::kPow, {}},
    {"**.", 11, Infix::kPointwise, Op::kPow, {}},
};

Tensor ReduceBySpec(const InfixOperator& infix, absl::string_view spec,
                    const std::vector<Arg>& args,
                    const EinsumNumbers& numbers) {
  Graph& graph = *std::get<Tensor>(args[0].value).graph;
  const absl::StatusOr<NamedParts> named = NameParts(spec);
  if (!named.ok()) return ErrorTensor(graph, named.status(), args[0].where);
  const bool is_mul3 = args.size() == 3 && infix.op == Op::kMul;
  const Tensor result = Reduce(is_mul3 ? Op::kMul3 : infix.op, *infix.accum,
                               named->spec, args, numbers);
  if (std::holds_alternative<ErrorSource>(result.node().source)) return result;
  for (const auto& [name, cells] : named->sizes) {
    const absl::Status status = SetDim(result, name, cells);
    if (!status.ok()) return ErrorTensor(graph, status, args[0].where);
  }
  // As it was written.
  graph.SetText(result.id,
                absl::StrReplaceAll(result.node().text, {{named->spec, spec}}));
  return result;
}

// `infix` of two floats. A float without its dot is an error: x -.5 would be
// x - 5.
Tensor OfNumbers(const InfixOperator& infix, const std::vector<Arg>& args) {
  const Tensor a = std::get<Tensor>(args[0].value);
  const Tensor b = std::get<Tensor>(args[1].value);
  const auto* left = std::get_if<NumberSource>(&a.node().source);
  const auto* right = std::get_if<NumberSource>(&b.node().source);
  const absl::string_view plain = infix.symbol.substr(0, 1);
  const std::string text =
      absl::StrCat(a.node().text, " ", infix.symbol, " ", b.node().text);
  const bool is_whole = absl::c_all_of(b.node().text, absl::ascii_isdigit);
  if (left == nullptr || right == nullptr || is_whole) {
    return ErrorTensor(
        *a.graph, text,
        absl::StrCat("`", infix.symbol, "` is of two floats, such as 1.0; ",
                     "write ", a.node().text, " ", plain, " ", b.node().text),
        args[0].where);
  }
  const double value = infix.op == Op::kAdd ? left->value + right->value
                                            : left->value - right->value;
  return Number(*a.graph, value, args[0].where);
}

}  // namespace

absl::StatusOr<NamedParts> NameParts(absl::string_view spec) {
  auto is_word = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  NamedParts named;
  size_t at = 0;
  while (at < spec.size()) {
    size_t end = at;
    while (end < spec.size() && is_word(spec[end])) ++end;
    const absl::string_view word = spec.substr(at, end - at);
    const absl::string_view rest =
        absl::StripLeadingAsciiWhitespace(spec.substr(end));
    const absl::string_view before =
        absl::StripTrailingAsciiWhitespace(spec.substr(0, at));
    int64_t cells;
    if ((absl::StartsWith(rest, "^") || absl::EndsWith(before, "^")) &&
        absl::SimpleAtoi(word, &cells)) {
      if (cells < 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the part `", word, "` of a concatenation has no cells; give it 1 ",
            "or more"));
      }
      named.sizes.emplace_back(absl::StrCat("cells_", named.sizes.size() + 1),
                               cells);
      named.spec += named.sizes.back().first;
    } else {
      end = std::max(end, at + 1);
      absl::StrAppend(&named.spec, spec.substr(at, end - at));
    }
    at = end;
  }
  return named;
}

const AssignOperator* AcceptAssign(Lexer& lexer) {
  for (const AssignOperator& each : kAssignOperators) {
    if (lexer.Accept(each.symbol)) return &each;
  }
  return nullptr;
}

absl::StatusOr<Token> TakeLogic(Lexer& lexer, absl::string_view what) {
  OCANNL_RETURN_IF_ERROR(lexer.Expect("logic"));
  OCANNL_RETURN_IF_ERROR(lexer.Expect(":"));
  return lexer.Take(Token::kString, what);
}

const InfixOperator* FindInfix(absl::string_view symbol) {
  for (const Infix& infix : kInfixes) {
    if (infix.symbol == symbol) return &infix;
  }
  return nullptr;
}

absl::StatusOr<absl::string_view> TakeSpec(Lexer& lexer,
                                           const InfixOperator& infix,
                                           const EinsumNumbers& numbers,
                                           size_t& operands) {
  if (lexer.peek().kind != Token::kString) {
    absl::string_view example = infix.form == InfixOperator::kReduceOne
                                    ? "...|... => 0"
                                : infix.op ? "i; j => ij"
                                           : "a; b => a^b";
    return NoSpec(lexer, infix.symbol, example);
  }
  const Token token = lexer.Next();
  if (infix.form == InfixOperator::kReduceMany) {
    operands = 1 + absl::c_count(token.text, ';');
    if (infix.op) operands = std::max<size_t>(operands, 2);
  }
  const absl::StatusOr<NamedParts> named = NameParts(token.text);
  absl::Status status = named.status();
  if (status.ok()) {
    status =
        ParseEinsum(named->spec, static_cast<int>(operands), numbers).status();
  }
  if (!status.ok()) return lexer.ErrorAt(token, status.message());
  return token.text;
}

Tensor ApplyInfix(const InfixOperator& infix, absl::string_view spec,
                  std::vector<Arg> args, const EinsumNumbers& numbers) {
  switch (infix.form) {
    case InfixOperator::kSwapped:
      std::swap(args[0], args[1]);
      [[fallthrough]];
    case InfixOperator::kPointwise:
      return Pointwise(*infix.op, args);
    case InfixOperator::kLogical:
      return *infix.op == Op::kAnd ? args[0] && args[1] : args[0] || args[1];
    case InfixOperator::kCompose:
      return args[0] * args[1];
    case InfixOperator::kFirst:
      return std::get<Tensor>(args[0].value);
    case InfixOperator::kSecond:
      return std::get<Tensor>(args[1].value);
    case InfixOperator::kNumbers:
      return OfNumbers(infix, args);
    case InfixOperator::kReduceOne:
    case InfixOperator::kReducePair:
    case InfixOperator::kReduceMany:
      return ReduceBySpec(infix, spec, args, numbers);
    case InfixOperator::kSlice:
      break;
  }
  __builtin_unreachable();
}

std::vector<absl::string_view> NotationSymbols() {
  std::vector<absl::string_view> symbols = {"(",   ")",  "[", "]", "[|", "|]",
                                            "{",   "}",  ",", ";", ":",  "!.",
                                            "!..", "!@", "~", "~-"};
  for (const Infix& infix : kInfixes) symbols.push_back(infix.symbol);
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](absl::string_view a, absl::string_view b) {
                     return a.size() > b.size();
                   });
  return symbols;
}

}  // namespace ocannl
