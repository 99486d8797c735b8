// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/dtype.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {

absl::string_view Name(DType dtype) {
  switch (dtype) {
#define OCANNL_CASE(name, text, type) \
  case DType::k##name:                \
    return text;
    OCANNL_DTYPES(OCANNL_CASE)
#undef OCANNL_CASE
  }
  __builtin_unreachable();
}

std::optional<DType> FindDType(absl::string_view name) {
#define OCANNL_TEST(enumerator, text, type) \
  if (name == text) return DType::k##enumerator;
  OCANNL_DTYPES(OCANNL_TEST)
#undef OCANNL_TEST
  return std::nullopt;
}

std::string DTypeNames() {
  std::vector<absl::string_view> names;
#define OCANNL_ADD(enumerator, text, type) names.push_back(text);
  OCANNL_DTYPES(OCANNL_ADD)
#undef OCANNL_ADD
  const absl::string_view last = names.back();
  names.pop_back();
  return absl::StrCat(absl::StrJoin(names, ", "), " or ", last);
}

}  // namespace ocannl
