// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/npy_header.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"

namespace ocannl {
namespace {

// How NumPy writes a type: a Python expression. Floats that it has not are the
// only field of a structure, whose name tells.
std::string DescrOf(DType dtype) {
  const size_t size = SizeOf(dtype);
  const auto text = [&](absl::string_view kind) {
    return absl::StrCat("'", size == 1 ? "|" : "<", kind, size, "'");
  };
  if (dtype == DType::kBool) return text("b");
  if (IsFloat(dtype) || dtype == DType::kF16) return text("f");
  if (IsInteger(dtype)) return text(IsSigned(dtype) ? "i" : "u");
  return absl::StrCat("[('", Name(dtype), "', ", text("u"), ")]");
}

absl::StatusOr<DType> ParseDescr(absl::string_view text) {
  for (DType dtype : kDTypes) {
    if (DescrOf(dtype) == text) return dtype;
  }
  if (absl::StartsWith(text, "'>")) {
    return UserError(
        "its numbers are big-endian (", text,
        "); save array.astype(array.dtype.newbyteorder('<')) instead");
  }
  return UserError("its numbers are of type ", text, ", not one of ",
                   absl::StrJoin(kDTypes, " ",
                                 [](std::string* out, DType dtype) {
                                   absl::StrAppend(out, DescrOf(dtype));
                                 }),
                   "; save array.astype('<f4') instead");
}

// A reader of the few Python expressions that a header is made of.
class Parser {
 public:
  explicit Parser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<NpyHeader> Header() {
    OCANNL_RETURN_IF_ERROR(Expect("{"));
    while (!Accept("}")) {
      OCANNL_RETURN_IF_ERROR(Entry());
      if (Accept(",")) continue;
      OCANNL_RETURN_IF_ERROR(Expect("}"));
      break;
    }
    rest_ = absl::StripAsciiWhitespace(rest_);
    if (!rest_.empty()) return Unexpected("the end");
    for (absl::string_view key : {"descr", "fortran_order", "shape"}) {
      if (!Has(key)) {
        return UserError("its header has no '", key,
                         "'; save it with numpy.save");
      }
    }
    return header_;
  }

 private:
  bool Accept(absl::string_view text) {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return absl::ConsumePrefix(&rest_, text);
  }

  absl::Status Unexpected(absl::string_view expected) const {
    return UserError("its header has '", absl::CHexEscape(rest_.substr(0, 10)),
                     "' where ", expected,
                     " should be; save it with numpy.save");
  }

  absl::Status Expect(absl::string_view text) {
    if (Accept(text)) return absl::OkStatus();
    return Unexpected(absl::StrCat("'", text, "'"));
  }

  // 'text' or "text", without escapes.
  absl::StatusOr<absl::string_view> String() {
    char quote = Accept("'") ? '\'' : Accept("\"") ? '"' : '\0';
    size_t end = quote == '\0' ? rest_.npos : rest_.find(quote);
    if (end == rest_.npos) return Unexpected("a string");
    absl::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  absl::Status Entry() {
    OCANNL_ASSIGN_OR_RETURN(absl::string_view key, String());
    if (Has(key)) {
      return UserError("its header has two '", absl::CHexEscape(key),
                       "'; save it with numpy.save");
    }
    keys_.emplace_back(key);
    OCANNL_RETURN_IF_ERROR(Expect(":"));
    if (key == "descr") {
      for (DType dtype : kDTypes) {
        header_.dtype = dtype;
        if (Accept(DescrOf(dtype))) return absl::OkStatus();
      }
      OCANNL_ASSIGN_OR_RETURN(absl::string_view text, String());
      OCANNL_ASSIGN_OR_RETURN(
          header_.dtype,
          ParseDescr(absl::StrCat("'", absl::CHexEscape(text), "'")));
      return absl::OkStatus();
    }
    if (key == "fortran_order") {
      header_.fortran_order = Accept("True");
      if (header_.fortran_order || Accept("False")) return absl::OkStatus();
      return Unexpected("True or False");
    }
    if (key == "shape") return Shape();
    return UserError("its header has an unknown key '", absl::CHexEscape(key),
                     "'; save it with numpy.save");
  }

  // (), (2,) or (2, 3)
  absl::Status Shape() {
    OCANNL_RETURN_IF_ERROR(Expect("("));
    while (!Accept(")")) {
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      size_t digits = 0;
      while (digits < rest_.size() && absl::ascii_isdigit(rest_[digits])) {
        ++digits;
      }
      int64_t dim;
      if (!absl::SimpleAtoi(rest_.substr(0, digits), &dim)) {
        return Unexpected("an axis length below 2^63");
      }
      rest_.remove_prefix(digits);
      header_.dims.push_back(dim);
      if (header_.dims.size() > kMostNpyAxes) {
        return UserError("it has more than ", kMostNpyAxes,
                         " axes; reshape it before saving");
      }
      if (!Accept(",")) {
        OCANNL_RETURN_IF_ERROR(Expect(")"));
        break;
      }
    }
    return absl::OkStatus();
  }

  bool Has(absl::string_view key) const {
    return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
  }

  absl::string_view rest_;
  std::vector<absl::string_view> keys_;  // at most four
  NpyHeader header_{.dtype = DType::kF32, .dims = {}, .fortran_order = false};
};

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text) {
  return Parser(text).Header();
}

std::string Format(const NpyHeader& header) {
  return absl::StrCat(
      "{'descr': ", DescrOf(header.dtype),
      ", 'fortran_order': ", header.fortran_order ? "True" : "False",
      ", 'shape': (", absl::StrJoin(header.dims, ", "),
      header.dims.size() == 1 ? ",), }" : "), }");
}

}  // namespace ocannl
