// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/print.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/overload.h"

namespace ocannl {
namespace {

class Printer {
 public:
  Printer(const ExprPool& pool,
          absl::FunctionRef<std::string(const Leaf&)> leaf)
      : pool_(pool), leaf_(leaf) {}

  void Print(ExprId id, bool root) {
    std::visit(Overload{
                   [&](const Constant& c) { text_ += PrintConstant(c); },
                   [&](const Leaf& leaf) { text_ += leaf_(leaf); },
                   [&](const Apply& apply) { PrintApply(apply, root); },
               },
               pool_[id]);
  }

  std::string Take() { return std::move(text_); }

 private:
  void PrintApply(const Apply& apply, bool root) {
    if (IsInfix(apply.op)) {
      if (!root) text_ += "(";
      Print(apply.args[0], false);
      absl::StrAppend(&text_, " ", Info(apply.op).text, " ");
      Print(apply.args[1], false);
      if (!root) text_ += ")";
      return;
    }
    absl::StrAppend(&text_, CallName(apply.op, apply.dtype), "(");
    for (size_t i = 0; i < apply.args.size(); ++i) {
      if (i > 0) text_ += ", ";
      Print(apply.args[i], true);
    }
    text_ += ")";
  }

  const ExprPool& pool_;
  absl::FunctionRef<std::string(const Leaf&)> leaf_;
  std::string text_;
};

}  // namespace

std::string PrintExpr(const ExprPool& pool, ExprId root,
                      absl::FunctionRef<std::string(const Leaf&)> leaf) {
  Printer printer(pool, leaf);
  printer.Print(root, true);
  return printer.Take();
}

std::string PrintConstant(const Constant& constant) {
  std::string text = VisitDType(constant.dtype, [&](auto number) {
    if constexpr (std::is_same_v<decltype(number), bool>) {
      return std::string(constant.bits ? "true" : "false");
    } else {
      std::memcpy(&number, &constant.bits, sizeof(number));
      if constexpr (kIsNarrow<decltype(number)>) {
        return NumberText(static_cast<float>(number));
      } else {
        return NumberText(number);
      }
    }
  });
  if (constant.dtype != DType::kF32 && constant.dtype != DType::kBool) {
    absl::StrAppend(&text, ":", Name(constant.dtype));
  }
  return text;
}

std::optional<Constant> ParseConstant(absl::string_view text, DType dtype) {
  if (IsNarrow(dtype)) {
    std::optional<Constant> wide = ParseConstant(text, DType::kF64);
    if (!wide) return std::nullopt;
    const Constant narrow = MakeConstant(dtype, ToDouble(*wide));
    const bool is_finite = std::isfinite(ToDouble(narrow));
    if (std::isfinite(ToDouble(*wide)) && !is_finite) return std::nullopt;
    return narrow;
  }
  return VisitDType(dtype, [&](auto value) -> std::optional<Constant> {
    using T = decltype(value);
    const char* begin = text.data();
    const char* end = begin + text.size();
    std::from_chars_result result = {begin, std::errc()};
    if constexpr (std::is_same_v<T, bool> || kIsNarrow<T>) {
      return std::nullopt;
    } else if constexpr (std::is_integral_v<T>) {
      int base = absl::StartsWith(text, "0x") ? 16 : 10;
      if (base == 16) begin += 2;
      result = std::from_chars(begin, end, value, base);
    } else if (text == "inf") {
      value = std::numeric_limits<T>::infinity();
      result.ptr = end;
    } else if (text == "nan") {
      value = std::numeric_limits<T>::quiet_NaN();
      result.ptr = end;
    } else {
      result = std::from_chars(begin, end, value);
    }
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return FromBits(dtype, bits);
  });
}

}  // namespace ocannl
