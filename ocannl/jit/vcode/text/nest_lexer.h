// SPDX-License-Identifier: Apache-2.0
//
// NestLexer: the tokens of a line of a nest's text (print.h).
#ifndef OCANNL_JIT_VCODE_TEXT_NEST_LEXER_H_
#define OCANNL_JIT_VCODE_TEXT_NEST_LEXER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/loop_lexer.h"
#include "ocannl/core/ops/print.h"

namespace ocannl::jit {

// 12 of "r12", where `letters` has the r.
inline std::optional<int32_t> NumberOf(absl::string_view name,
                                       absl::string_view letters) {
  int32_t number = -1;
  if (name.empty() || !absl::StrContains(letters, name[0]) ||
      !absl::SimpleAtoi(name.substr(1), &number)) {
    return std::nullopt;
  }
  return number;
}

class NestLexer : public LoopLexer {
 public:
  explicit NestLexer(absl::string_view line) : LoopLexer(line, {"+="}) {}

  // -12
  absl::StatusOr<int64_t> TakeSigned() {
    const int64_t sign = Accept("-") ? -1 : 1;
    OCANNL_ASSIGN_OR_RETURN(int64_t number, TakeInteger("a number"));
    return sign * number;
  }

  // The number of one of `letters`, as in "p3".
  absl::StatusOr<int32_t> TakeNumbered(absl::string_view letters) {
    const std::optional<int32_t> number = NumberOf(peek().text, letters);
    if (!number) return ExpectedError(absl::StrCat(letters, "0"));
    Next();
    return *number;
  }

  // f32x16
  absl::Status TakeType(DType& dtype, uint8_t& lanes) {
    const absl::string_view name = peek().text;
    const size_t times = name.rfind('x');
    int number = 1;
    const std::optional<DType> found = FindDType(name.substr(0, times));
    if (!found || (times != absl::string_view::npos &&
                   !absl::SimpleAtoi(name.substr(times + 1), &number))) {
      return ExpectedError("a type, such as f32x16");
    }
    Next();
    dtype = *found;
    lanes = static_cast<uint8_t>(number);
    return absl::OkStatus();
  }

  // -0.5, 3:i64, true
  absl::StatusOr<Constant> TakeConstant() {
    const absl::string_view sign = Accept("-") ? "-" : "";
    const std::string number = absl::StrCat(sign, Next().text);
    std::optional<Constant> constant;
    if (number == "true" || number == "false") {
      constant = FromBits(DType::kBool, number == "true" ? 1 : 0);
    } else {
      DType dtype = DType::kF32;
      if (Accept(":")) {
        OCANNL_ASSIGN_OR_RETURN(dtype, TakeDType());
      }
      constant = ParseConstant(number, dtype);
    }
    if (constant) return *constant;
    return Error("`", number, "` is no operand");
  }
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_TEXT_NEST_LEXER_H_
