// SPDX-License-Identifier: Apache-2.0
//
// DType: the type of one array element.
//
// A bool is stored as one byte, 0 or 1. All integers are two's complement and
// wrap around; f32 and f64 are IEEE 754 binary32 and binary64.
#ifndef OCANNL_CORE_BASE_DTYPE_H_
#define OCANNL_CORE_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

// DTYPE(enumerator, text, C++ type): every element type, once.
#define OCANNL_DTYPES(DTYPE)  \
  DTYPE(Bool, "bool", bool)   \
  DTYPE(U8, "u8", uint8_t)    \
  DTYPE(I32, "i32", int32_t)  \
  DTYPE(U32, "u32", uint32_t) \
  DTYPE(I64, "i64", int64_t)  \
  DTYPE(U64, "u64", uint64_t) \
  DTYPE(F32, "f32", float)    \
  DTYPE(F64, "f64", double)

namespace ocannl {

enum class DType : uint8_t {
#define OCANNL_ENUMERATOR(name, text, type) k##name,
  OCANNL_DTYPES(OCANNL_ENUMERATOR)
#undef OCANNL_ENUMERATOR
};

// The name as in every text form: "f32".
absl::string_view Name(DType dtype);

// The dtype that `name` names, if any.
std::optional<DType> FindDType(absl::string_view name);

// The bytes of one element.
size_t SizeOf(DType dtype);

bool IsFloat(DType dtype);
bool IsInteger(DType dtype);  // not bool
bool IsSigned(DType dtype);   // integers and floats with a sign

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

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_DTYPE_H_
