// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/operators.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/habits.h"
#include "ocannl/core/notation/number.h"

namespace ocannl {
namespace {

using Infix = InfixOperator;

constexpr Infix kInfixes[] = {
    {"||", 1, Infix::kPointwise, Op::kOr, {}},
    {"&&", 2, Infix::kPointwise, Op::kAnd, {}},
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
    {"@^^", 7, Infix::kReduceOne, {}, Op::kMax},
    {"@^+", 7, Infix::kReducePair, Op::kAdd, Op::kMax},
    {"@--", 7, Infix::kReduceOne, {}, Op::kMin},
    {"@-+", 7, Infix::kReducePair, Op::kAdd, Op::kMin},
    {"<<", 8, Infix::kPointwise, Op::kShl, {}},
    {">>", 8, Infix::kPointwise, Op::kShr, {}},
    {"+", 9, Infix::kPointwise, Op::kAdd, {}},
    {"-", 9, Infix::kPointwise, Op::kSub, {}},
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

}  // namespace

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
  absl::Status status =
      ParseEinsum(token.text, static_cast<int>(operands), numbers).status();
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
    case InfixOperator::kCompose:
      return args[0] * args[1];
    case InfixOperator::kReduceOne:
    case InfixOperator::kReducePair:
    case InfixOperator::kReduceMany: {
      const bool is_mul3 = args.size() == 3 && infix.op == Op::kMul;
      return Reduce(is_mul3 ? Op::kMul3 : infix.op, *infix.accum, spec, args,
                    numbers);
    }
    case InfixOperator::kSlice:
      break;
  }
  __builtin_unreachable();
}

std::vector<absl::string_view> NotationSymbols() {
  std::vector<absl::string_view> symbols = {"(",  ")",  "[",   "]", "[|",
                                            "|]", "{",  "}",   ",", ";",
                                            ":",  "!.", "!..", "!@"};
  for (const Infix& infix : kInfixes) symbols.push_back(infix.symbol);
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](absl::string_view a, absl::string_view b) {
                     return a.size() > b.size();
                   });
  return symbols;
}

}  // namespace ocannl
