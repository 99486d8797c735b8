// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/number.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {

absl::StatusOr<std::string> TakeDigits(Lexer& lexer, absl::string_view what) {
  OCANNL_ASSIGN_OR_RETURN(const Token number, lexer.Take(Token::kNumber, what));
  std::string text(number.text);
  const Token& next = lexer.peek();
  const bool goes_on = next.kind == Token::kName && next.text[0] == '_' &&
                       next.offset == number.offset + number.text.size();
  if (goes_on) {
    absl::StrAppend(&text, absl::StrReplaceAll(lexer.Next().text, {{"_", ""}}));
  }
  return text;
}

absl::StatusOr<Tensor> TakeNumber(Lexer& lexer, absl::string_view sign,
                                  size_t offset, Graph& graph,
                                  SourceLocation where) {
  std::string text(sign);
  if (lexer.peek().kind == Token::kName) {
    absl::StrAppend(&text, lexer.Next().text);  // inf, nan
  } else {
    OCANNL_ASSIGN_OR_RETURN(std::string digits, TakeDigits(lexer, "a number"));
    text += digits;
  }
  std::optional<DType> dtype;
  if (lexer.Accept(":")) {
    OCANNL_ASSIGN_OR_RETURN(dtype, TakeDType(lexer));
  }
  // All digits that are kept, for what the number adapts to.
  const DType held = dtype.value_or(DType::kF64);
  const std::optional<Constant> constant = ParseConstant(text, held);
  if (!constant) {
    DType wider = DType::kF64;
    for (DType whole : {DType::kU64, DType::kI64}) {
      if (IsInteger(held) && ParseConstant(text, whole)) wider = whole;
    }
    std::string other = absl::StrCat(text, ":", Name(wider), ", or ");
    if (held == DType::kF64) other.clear();
    return lexer.ErrorAt(offset, "`", text, "` is not a number that ",
                         Name(held), " can hold; write ", other,
                         "another number");
  }
  TensorId id = graph.Add({.source = NumberSource{ToDouble(*constant)},
                           .name = "",
                           .text = std::move(text),
                           .dtype = dtype.value_or(DType::kF32),
                           .has_gradient = false,
                           .where = where});
  const Tensor number = {&graph, id};
  return dtype ? Convert(Arg(number, where), held) : number;
}

}  // namespace ocannl
