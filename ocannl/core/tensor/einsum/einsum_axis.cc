// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/einsum/einsum_axis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"

namespace ocannl {
namespace {

// Products with sizes of axes stay far from overflow.
constexpr int64_t kMaxFactor = 65536;

class AxisParser {
 public:
  AxisParser(absl::string_view text, const EinsumNumbers& numbers)
      : text_(text), rest_(text), numbers_(numbers) {}

  absl::StatusOr<EinsumAxis> Parse() {
    if (absl::c_linear_search(text_, '&')) {
      return Error("`&` is reserved; leave it out");
    }
    if (absl::c_linear_search(text_, '^')) return Concatenation();
    EinsumAxis axis;
    if (absl::c_all_of(text_, absl::ascii_isdigit) && !text_.empty()) {
      // The size of the axis, which is one more, is a number too.
      if (!absl::SimpleAtoi(text_, &axis.position) ||
          axis.position == std::numeric_limits<int64_t>::max()) {
        return UserError("its position ", text_, " is too large");
      }
      return axis;
    }
    if (HasPaddings()) return Padded();
    OCANNL_ASSIGN_OR_RETURN(axis.stride, Factor());
    OCANNL_ASSIGN_OR_RETURN(axis.name, Name());
    bool marked = true;
    if (Accept("<=")) {
      axis.fit = WindowFit::kSame;
    } else if (Accept("<")) {
      axis.fit = WindowFit::kExact;
    } else {
      marked = Accept("=");
    }
    OCANNL_RETURN_IF_ERROR(Rest(axis));
    if (!rest_.empty()) return Unexpected();
    if (marked && axis.kernel.empty()) return NoWindow();
    if (axis.fit == WindowFit::kSame && axis.offset != 0) return HasOffset();
    return axis;
  }

 private:
  // Whether a padding precedes the windows, and another one follows them.
  bool HasPaddings() const {
    const size_t at = text_.find('<');
    if (at == absl::string_view::npos) return false;
    const absl::string_view after =
        absl::StripLeadingAsciiWhitespace(text_.substr(at + 1));
    return !after.empty() && after[0] != '+' && after[0] != '=';
  }

  absl::StatusOr<EinsumAxis> Padded() {
    EinsumAxis axis;
    OCANNL_ASSIGN_OR_RETURN(axis.before, Padding());
    if (!Accept("<")) return Unexpected();
    OCANNL_ASSIGN_OR_RETURN(axis.stride, Factor());
    OCANNL_ASSIGN_OR_RETURN(axis.name, Name());
    OCANNL_RETURN_IF_ERROR(Rest(axis));
    if (!Accept("<")) return Unexpected();
    axis.fit = Accept("=") ? WindowFit::kCeil : WindowFit::kFloor;
    OCANNL_ASSIGN_OR_RETURN(axis.after, Padding());
    if (!rest_.empty()) return Unexpected();
    if (axis.kernel.empty()) return NoWindow();
    if (axis.offset != 0) return HasOffset();
    return axis;
  }

  absl::Status NoWindow() const {
    return Error(
        "`=` and `<` say what windows do at the ends of an axis, but it has "
        "no window; write, such as, `oh<+kh`");
  }

  absl::Status HasOffset() const {
    return Error(
        "its paddings say where the windows start; leave out the offset");
  }

  // The offset and the window.
  absl::Status Rest(EinsumAxis& axis) {
    bool more = Accept("+");
    if (more && IsOffset()) {
      OCANNL_ASSIGN_OR_RETURN(axis.offset, Integer());
      if (axis.offset >= axis.stride) {
        return Error(absl::StrCat("its offset ", axis.offset,
                                  " is not less than its stride ", axis.stride,
                                  "; every cell has an offset from 0 to ",
                                  axis.stride - 1));
      }
      more = Accept("+");
    }
    if (!more) return absl::OkStatus();
    OCANNL_ASSIGN_OR_RETURN(axis.dilation, Factor());
    OCANNL_ASSIGN_OR_RETURN(axis.kernel, Name());
    if (axis.kernel == axis.name && axis.name != "_") {
      return Error("the window and its cells have one name; use two");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<EinsumAxis> Concatenation() {
    EinsumAxis axis;
    do {
      OCANNL_ASSIGN_OR_RETURN(std::string part, Name());
      if (part == "_") return Error("its parts need names; replace `_`");
      if (absl::c_linear_search(axis.parts, part)) {
        return Error(absl::StrCat("it has `", part,
                                  "` twice; name its parts differently"));
      }
      axis.parts.push_back(std::move(part));
    } while (Accept("^"));
    if (!rest_.empty()) return Unexpected();
    return axis;
  }

  bool Accept(absl::string_view symbol) {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    if (!absl::ConsumePrefix(&rest_, symbol)) return false;
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return true;
  }

  bool AtDigit() const {
    return !rest_.empty() && absl::ascii_isdigit(rest_[0]);
  }

  // Whether a number follows that is no factor.
  bool IsOffset() const {
    absl::string_view after = rest_;
    while (!after.empty() && absl::ascii_isdigit(after[0])) {
      after.remove_prefix(1);
    }
    after = absl::StripLeadingAsciiWhitespace(after);
    return AtDigit() && (after.empty() || after[0] != '*');
  }

  absl::StatusOr<int64_t> Integer() {
    size_t size = 0;
    while (size < rest_.size() && absl::ascii_isdigit(rest_[size])) ++size;
    absl::string_view digits = rest_.substr(0, size);
    rest_.remove_prefix(size);
    int64_t value;
    if (absl::SimpleAtoi(digits, &value) && value <= kMaxFactor) return value;
    return Error(absl::StrCat("its number ", digits, " is over ", kMaxFactor));
  }

  // What stands before `*`, or 1 if there is no `*`.
  absl::StatusOr<int64_t> Factor() {
    const absl::string_view before = rest_;
    if (AtDigit()) {
      OCANNL_ASSIGN_OR_RETURN(int64_t factor, Integer());
      if (!Accept("*")) return Unexpected();
      if (factor == 0) return Error("its factor 0 leaves one cell; write 0");
      return factor;
    }
    std::string name = TakeEinsumName(rest_, true);
    if (!Accept("*")) {
      rest_ = before;
      return 1;
    }
    return ValueOf(name, 1);
  }

  absl::StatusOr<int64_t> Padding() {
    if (AtDigit()) {
      OCANNL_ASSIGN_OR_RETURN(const int64_t cells, Integer());
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      return cells;
    }
    OCANNL_ASSIGN_OR_RETURN(const std::string name, Name());
    return ValueOf(name, 0);
  }

  // The number that `name` stands for, `least` or more.
  absl::StatusOr<int64_t> ValueOf(const std::string& name,
                                  int64_t least) const {
    auto number = numbers_.find(name);
    if (number == numbers_.end()) {
      return Error(absl::StrCat("`", name,
                                "` has no value; write a number, or give `",
                                name, "` one"));
    }
    const double value = number->second;
    if (value >= static_cast<double>(least) && value <= kMaxFactor &&
        value == std::floor(value)) {
      return static_cast<int64_t>(value);
    }
    return Error(absl::StrCat("`", name, "` is ", value,
                              ", not a whole number from ", least, " to ",
                              kMaxFactor));
  }

  absl::StatusOr<std::string> Name() {
    std::string name = TakeEinsumName(rest_, true);
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    if (name.empty()) return Unexpected();
    return name;
  }

  absl::Status Unexpected() const {
    if (rest_.empty()) {
      return text_.empty() ? absl::InvalidArgumentError("it ends too early")
                           : Error("it ends too early");
    }
    const size_t size = std::max<size_t>(1, CharacterSize(rest_));
    return UserError("`", rest_.substr(0, size), "` is unexpected");
  }

  absl::Status Error(absl::string_view message) const {
    return UserError("in its axis `", text_, "`: ", message);
  }

  absl::string_view text_;
  absl::string_view rest_;
  const EinsumNumbers& numbers_;
};

// "3*": nothing for 1.
std::string FactorText(int64_t factor) {
  return factor == 1 ? "" : absl::StrCat(factor, "*");
}

}  // namespace

int64_t EinsumAxis::Before(int64_t window, int64_t count, int64_t size) const {
  const int64_t span = (window - 1) * dilation + 1;
  switch (fit) {
    case WindowFit::kCentred:
      return span / 2;
    case WindowFit::kExact:
      return 0;
    case WindowFit::kFloor:
    case WindowFit::kCeil:
      return before;
    case WindowFit::kSame:
      return std::max<int64_t>(0, (count - 1) * stride + span - size) / 2;
  }
  __builtin_unreachable();
}

std::vector<std::string*> EinsumAxis::Names() {
  std::vector<std::string*> names;
  if (!name.empty()) names.push_back(&name);
  if (!kernel.empty()) names.push_back(&kernel);
  for (std::string& part : parts) names.push_back(&part);
  return names;
}

absl::StatusOr<EinsumAxis> ParseEinsumAxis(absl::string_view text,
                                           const EinsumNumbers& numbers) {
  return AxisParser(text, numbers).Parse();
}

std::string ToString(const EinsumAxis& axis) {
  if (!axis.parts.empty()) return absl::StrJoin(axis.parts, "^");
  if (axis.is_position()) return absl::StrCat(axis.position);
  std::string text = absl::StrCat(FactorText(axis.stride), axis.name);
  if (axis.has_paddings()) {
    return absl::StrCat(axis.before, "<", text, "+", FactorText(axis.dilation),
                        axis.kernel, axis.fit == WindowFit::kCeil ? "<=" : "<",
                        axis.after);
  }
  if (axis.fit == WindowFit::kExact) text += "<";
  if (axis.fit == WindowFit::kSame) text += "<=";
  if (axis.offset != 0) absl::StrAppend(&text, "+", axis.offset);
  if (axis.kernel.empty()) return text;
  return absl::StrCat(text, "+", FactorText(axis.dilation), axis.kernel);
}

std::string TakeEinsumName(absl::string_view& text, bool long_names) {
  size_t size = 0;
  auto belongs = [&](char c) {
    if (size == 0) return absl::ascii_isalpha(c) || c == '_';
    return long_names && text[0] != '_' && (absl::ascii_isalnum(c) || c == '_');
  };
  while (size < text.size() && belongs(text[size])) ++size;
  std::string name(text.substr(0, size));
  text.remove_prefix(size);
  return name;
}

}  // namespace ocannl
