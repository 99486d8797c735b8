// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/statements/statement_parts.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/declaration.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/scope.h"

namespace ocannl {
namespace {

// A number or the name of one.
absl::StatusOr<double> TakeOperand(Lexer& lexer, const Names& names) {
  const Token token = lexer.peek();
  double value = 0;
  if (token.kind == Token::kNumber && absl::SimpleAtod(token.text, &value)) {
    lexer.Next();
    return value;
  }
  if (token.kind != Token::kName) {
    return lexer.ExpectedError("a number or the name of one");
  }
  return TakeNamedNumber(lexer, names, /*whole=*/false);
}

}  // namespace

absl::Status SkipParameters(Lexer& lexer, absl::string_view end) {
  while (!lexer.Accept(end)) {
    if (lexer.Accept("(")) {
      OCANNL_RETURN_IF_ERROR(lexer.Expect(")"));
      continue;
    }
    const bool is_labelled = lexer.Accept("~");
    const std::string what = absl::StrCat("a parameter or `", end, "`");
    OCANNL_RETURN_IF_ERROR(TakeName(lexer, what).status());
    if (!is_labelled || !lexer.Accept(":")) continue;
    OCANNL_RETURN_IF_ERROR(TakeName(lexer, "a name").status());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> TakeCondition(Lexer& lexer, const Names& names) {
  if (lexer.Accept("Float.equal")) {
    OCANNL_ASSIGN_OR_RETURN(double left, TakeOperand(lexer, names));
    OCANNL_ASSIGN_OR_RETURN(double right, TakeOperand(lexer, names));
    return left == right;
  }
  const bool dotted = lexer.Accept("Float");
  if (dotted) {
    OCANNL_RETURN_IF_ERROR(lexer.Expect("."));
    OCANNL_RETURN_IF_ERROR(lexer.Expect("("));
  }
  OCANNL_ASSIGN_OR_RETURN(double left, TakeOperand(lexer, names));
  bool holds = left != 0;
  for (absl::string_view symbol : {">", "<", ">=", "<=", "=", "<>"}) {
    if (!lexer.Accept(symbol)) continue;
    OCANNL_ASSIGN_OR_RETURN(double right, TakeOperand(lexer, names));
    holds = symbol == ">"    ? left > right
            : symbol == "<"  ? left < right
            : symbol == ">=" ? left >= right
            : symbol == "<=" ? left <= right
            : symbol == "="  ? left == right
                             : left != right;
    break;
  }
  if (dotted) OCANNL_RETURN_IF_ERROR(TakeClosing(lexer, "`>`", ")"));
  return holds;
}

bool IsOfNumbers(absl::string_view value, const Names& names) {
  Lexer lexer(value, NotationSymbols());
  while (lexer.peek().kind != Token::kEnd) {
    const Token token = lexer.Next();
    if (token.kind == Token::kNumber || token.kind == Token::kSymbol) continue;
    if (token.kind != Token::kName || !names.numbers.contains(token.text)) {
      return false;
    }
  }
  return true;
}

absl::Status TakeDeclaredShape(Lexer& lexer, const Names& names,
                               ShapeSpec& rows, std::optional<DType>& dtype) {
  if (lexer.Accept(":")) {
    OCANNL_ASSIGN_OR_RETURN(dtype, TakeDType(lexer));
  }
  while (lexer.Accept(";")) {
    const size_t offset = lexer.peek().offset;
    OCANNL_RETURN_IF_ERROR(TakeRow(lexer, names, rows));
    if (*rows.bases == Bases()) continue;
    return lexer.ErrorAt(offset, "the axes of an array have no bases; ",
                         "write their sizes alone");
  }
  return absl::OkStatus();
}

void LetTexts::SetValue(absl::string_view text, size_t begin, size_t end,
                        AssignStatement& assign) const {
  size_t at = begin;
  if (!lets_.empty()) at = lets_[0].begin;
  assign.value_offset = at;
  for (const Range& let : lets_) {
    absl::StrAppend(&assign.value, Blanks(text.substr(at, let.begin - at)),
                    text.substr(let.begin, let.end - let.begin));
    at = let.end;
  }
  absl::StrAppend(&assign.value, Blanks(text.substr(at, begin - at)),
                  text.substr(begin, end - begin));
}

std::optional<CodeStatement> CodeOf(const Token& name) {
  constexpr std::pair<absl::string_view, CodeStatement::Part> kParts[] = {
      {".forward", CodeStatement::kForward},
      {".zero_grads", CodeStatement::kZeroGrads},
      {".backprop", CodeStatement::kBackprop},
  };
  for (const auto& [suffix, part] : kParts) {
    absl::string_view tensor = name.text;
    if (!absl::ConsumeSuffix(&tensor, suffix)) continue;
    return CodeStatement{
        .tensor = std::string(tensor), .part = part, .offset = name.offset};
  }
  return std::nullopt;
}

}  // namespace ocannl
