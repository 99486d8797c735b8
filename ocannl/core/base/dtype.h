// SPDX-License-Identifier: Apache-2.0
//
// DType: the type of one array element.
//
// A bool is stored as one byte, 0 or 1. All integers are two's complement and
// wrap around; f32 and f64 are IEEE 754 binary32 and binary64. The floats of 8
// and 16 bits are for memory only (narrow_float.h): what reads them computes
// with f32.
#ifndef OCANNL_CORE_BASE_DTYPE_H_
#define OCANNL_CORE_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/narrow_float.h"

// DTYPE(enumerator, text, C++ type): every element type, once.
#define OCANNL_DTYPES(DTYPE)      \
  DTYPE(Bool, "bool", bool)       \
  DTYPE(U8, "u8", uint8_t)        \
  DTYPE(U16, "u16", uint16_t)     \
  DTYPE(I32, "i32", int32_t)      \
  DTYPE(U32, "u32", uint32_t)     \
  DTYPE(I64, "i64", int64_t)      \
  DTYPE(U64, "u64", uint64_t)     \
  DTYPE(F8E4M3, "f8e4m3", F8E4M3) \
  DTYPE(F8E5M2, "f8e5m2", F8E5M2) \
  DTYPE(BF16, "bf16", BF16)       \
  DTYPE(F16, "f16", F16)          \
  DTYPE(F32, "f32", float)        \
  DTYPE(F64, "f64", double)

namespace ocannl {

enum class DType : uint8_t {
#define OCANNL_ENUMERATOR(name, text, type) k##name,
  OCANNL_DTYPES(OCANNL_ENUMERATOR)
#undef OCANNL_ENUMERATOR
};

inline constexpr DType kDTypes[] = {
#define OCANNL_LIST(name, text, type) DType::k##name,
    OCANNL_DTYPES(OCANNL_LIST)
#undef OCANNL_LIST
};

// The name as in every text form: "f32".
absl::string_view Name(DType dtype);

// The dtype that `name` names, if any.
std::optional<DType> FindDType(absl::string_view name);

// All names, for messages: "bool, u8, ... or f64".
std::string DTypeNames();

// Calls `f(T())` with the C++ type T of `dtype` and returns its result.
template <class F>
auto VisitDType(DType dtype, F&& f) {
  switch (dtype) {
#define OCANNL_CASE(name, text, type) \
  case DType::k##name:                \
    return f(type());
    OCANNL_DTYPES(OCANNL_CASE)
#undef OCANNL_CASE
  }
  __builtin_unreachable();
}

// The bytes of one element.
inline size_t SizeOf(DType dtype) {
  return VisitDType(dtype, [](auto zero) { return sizeof(zero); });
}

// Whether it is f32 or f64.
inline bool IsFloat(DType dtype) {
  return VisitDType(dtype, [](auto zero) {
    return std::is_floating_point_v<decltype(zero)>;
  });
}

// Whether it is a float of memory only.
inline bool IsNarrow(DType dtype) {
  return VisitDType(dtype, [](auto zero) { return kIsNarrow<decltype(zero)>; });
}

// Whether it is an integer, of which a bool is none.
inline bool IsInteger(DType dtype) {
  return VisitDType(dtype, [](auto zero) {
    using T = decltype(zero);
    return std::is_integral_v<T> && !std::is_same_v<T, bool>;
  });
}

// Whether it is an integer or a float with a sign.
inline bool IsSigned(DType dtype) {
  return VisitDType(dtype, [](auto zero) {
    return std::is_signed_v<decltype(zero)> || kIsNarrow<decltype(zero)>;
  });
}

// The dtype that values of `dtype` are computed with: f32 for narrow ones.
inline DType ComputeDType(DType dtype) {
  return IsNarrow(dtype) ? DType::kF32 : dtype;
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_DTYPE_H_
