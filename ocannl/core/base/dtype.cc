// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/dtype.h"

#include <optional>
#include <type_traits>

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

size_t SizeOf(DType dtype) {
  return VisitDType(dtype, [](auto zero) { return sizeof(zero); });
}

bool IsFloat(DType dtype) {
  return VisitDType(dtype, [](auto zero) {
    return std::is_floating_point_v<decltype(zero)>;
  });
}

bool IsInteger(DType dtype) { return dtype != DType::kBool && !IsFloat(dtype); }

bool IsSigned(DType dtype) {
  return VisitDType(dtype,
                    [](auto zero) { return std::is_signed_v<decltype(zero)>; });
}

}  // namespace ocannl
