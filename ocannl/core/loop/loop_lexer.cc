// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/loop_lexer.h"

#include <optional>

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

}  // namespace

LoopLexer::LoopLexer(absl::string_view text)
    : Lexer(text, {":=", "==", "!=", "<=", "<<", ">>", "..", "|", "^",
                   "&",  "<",  "+",  "-",  "*",  "/",  "%",  "(", ")",
                   "[",  "]",  "{",  "}",  ":",  ";",  ",",  "="}) {}

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
