// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/loop_lexer.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/ops/depth.h"

namespace ocannl {
namespace {

// Sizes, bounds and factors: a sum of products of two fits 128 bits.
constexpr int64_t kMaxInteger = int64_t{1} << 40;

std::vector<absl::string_view> WithSymbols(
    std::vector<absl::string_view> symbols) {
  symbols.insert(
      symbols.end(),
      {":=", "==", "!=", "<=", "<<", ">>", "..", "|", "^", "&", "<", "+", "-",
       "*",  "/",  "%",  "(",  ")",  "[",  "]",  "{", "}", ":", ";", ",", "="});
  return symbols;
}

}  // namespace

LoopLexer::LoopLexer(absl::string_view text,
                     std::vector<absl::string_view> more)
    : Lexer(text, WithSymbols(std::move(more))) {}

bool LoopLexer::AtName() const {
  return peek().kind == Token::kName || peek().kind == Token::kString;
}

absl::StatusOr<std::string> LoopLexer::TakeName(absl::string_view what) {
  if (!AtName()) return ExpectedError(what);
  const Token name = Next();
  if (name.kind == Token::kString || !IsReserved(name.text)) {
    return std::string(name.text);
  }
  return ErrorAt(
      name.offset,
      absl::StrCat("expected ", what, ", found the word `", name.text,
                   "`; a name is written \"", name.text, "\""));
}

absl::StatusOr<int64_t> LoopLexer::TakeInteger(absl::string_view what) {
  int64_t value;
  if (peek().kind != Token::kNumber || !absl::SimpleAtoi(peek().text, &value) ||
      value > kMaxInteger) {
    return ExpectedError(absl::StrCat(what, ", an integer up to 2^40"));
  }
  Next();
  return value;
}

absl::StatusOr<DType> LoopLexer::TakeDType() {
  const size_t offset = peek().offset;
  if (peek().kind != Token::kName) return ExpectedError("a dtype");
  const absl::string_view name = Next().text;
  if (std::optional<DType> dtype = FindDType(name)) return *dtype;
  return ErrorAt(offset, absl::StrCat("`", name, "` is not a dtype; write ",
                                      DTypeNames()));
}

absl::StatusOr<Dims> LoopLexer::TakeDims() {
  Dims dims;
  OCANNL_RETURN_IF_ERROR(Expect("["));
  while (!Accept("]")) {
    if (!dims.empty()) OCANNL_RETURN_IF_ERROR(Expect(","));
    if (dims.size() == kMaxLoopDepth) {
      return Error(absl::StrCat("a buffer has at most ", kMaxLoopDepth,
                                " axes; make one axis of several"));
    }
    OCANNL_ASSIGN_OR_RETURN(dims.emplace_back(), TakeInteger("an axis size"));
  }
  return dims;
}

absl::StatusOr<Affine> LoopLexer::TakeIndex(
    absl::FunctionRef<absl::StatusOr<Symbol>()> symbol) {
  Affine sum;
  int64_t sign = Accept("-") ? -1 : 1;
  while (true) {
    int64_t factor = 1;
    const bool has_number = peek().kind == Token::kNumber;
    if (has_number) {
      OCANNL_ASSIGN_OR_RETURN(factor, TakeInteger("an index"));
    }
    Affine term = 1;
    if (!has_number || Accept("*")) {
      OCANNL_ASSIGN_OR_RETURN(const Symbol variable, symbol());
      term = variable;
    }
    sum += sign * factor * term;
    if (Accept("+")) {
      sign = 1;
    } else if (Accept("-")) {
      sign = -1;
    } else {
      return sum;
    }
  }
}

absl::Status LoopLexer::TakeHeader(
    std::string& name,
    absl::FunctionRef<void(std::string name, std::optional<int64_t> range)>
        declare) {
  OCANNL_ASSIGN_OR_RETURN(name, TakeName("the program's name"));
  OCANNL_RETURN_IF_ERROR(Expect("("));
  for (bool is_first = true; !Accept(")"); is_first = false) {
    if (!is_first) OCANNL_RETURN_IF_ERROR(Expect(","));
    OCANNL_ASSIGN_OR_RETURN(std::string index, TakeName("a static index"));
    std::optional<int64_t> range;
    if (Accept(":")) {
      OCANNL_RETURN_IF_ERROR(Expect("["));
      const size_t offset = peek().offset;
      OCANNL_ASSIGN_OR_RETURN(int64_t least, TakeInteger("the least value"));
      if (least != 0) {
        return ErrorAt(offset, "a static index starts at 0; write [0..n]");
      }
      OCANNL_RETURN_IF_ERROR(Expect(".."));
      OCANNL_ASSIGN_OR_RETURN(int64_t last, TakeInteger("the last value"));
      range = last + 1;
      OCANNL_RETURN_IF_ERROR(Expect("]"));
    }
    declare(std::move(index), range);
  }
  return Expect(":");
}

int InfixPrecedence(absl::string_view symbol) {
  static const auto* precedences =
      new absl::flat_hash_map<absl::string_view, int>{
          {"|", 1}, {"^", 2},  {"&", 3},  {"==", 4}, {"!=", 4},
          {"<", 5}, {"<=", 5}, {"<<", 6}, {">>", 6}, {"+", 7},
          {"-", 7}, {"*", 8},  {"/", 8},  {"%", 8}};
  auto found = precedences->find(symbol);
  return found == precedences->end() ? 0 : found->second;
}

}  // namespace ocannl
