// SPDX-License-Identifier: Apache-2.0
//
// NdArray: a dense row-major array on the host, of any dtype and rank.
//
//   NdArray a = NdArray::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
//   a.values<float>()[5] = 7;
//
// A misfit ends the process and names the line of the caller, `where`: too few
// values, a size below 0, another dtype.
#ifndef OCANNL_CORE_BASE_NDARRAY_H_
#define OCANNL_CORE_BASE_NDARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"

namespace ocannl {

using Dims = std::vector<int64_t>;

// The product of `dims`: 1 for a scalar.
int64_t NumElements(absl::Span<const int64_t> dims);

// The dtype whose C++ type is T.
template <class T>
constexpr DType DTypeOf() {
#define OCANNL_TEST(name, text, type) \
  if (std::is_same_v<T, type>) return DType::k##name;
  OCANNL_DTYPES(OCANNL_TEST)
#undef OCANNL_TEST
}

class NdArray {
 public:
  NdArray() : NdArray(DType::kF32, {0}) {}
  // All zeros.
  NdArray(DType dtype, Dims dims,
          SourceLocation where = SourceLocation::Current());

  // As many values as the dims have cells, row-major.
  template <class T>
  static NdArray Of(Dims dims, const std::vector<T>& values,
                    SourceLocation where = SourceLocation::Current()) {
    NdArray array(DTypeOf<T>(), std::move(dims), where);
    array.CheckSize(values.size(), where);
    for (int64_t i = 0; i < array.size(); ++i) {
      array.values<T>()[i] = values[i];
    }
    return array;
  }

  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int64_t size() const { return size_; }  // elements
  size_t bytes() const { return size_ * SizeOf(dtype_); }
  std::byte* data() { return data_.data(); }
  const std::byte* data() const { return data_.data(); }
  absl::string_view AsString() const {  // the bytes at data()
    return {reinterpret_cast<const char*>(data()), bytes()};
  }

  // The elements; T must be the C++ type of dtype().
  template <class T>
  absl::Span<T> values(SourceLocation where = SourceLocation::Current()) {
    if (DTypeOf<T>() != dtype_) OtherDType(DTypeOf<T>(), where);
    return {reinterpret_cast<T*>(data_.data()), static_cast<size_t>(size_)};
  }
  template <class T>
  absl::Span<const T> values(
      SourceLocation where = SourceLocation::Current()) const {
    return const_cast<NdArray*>(this)->values<T>(where);
  }

  // Element `i` in memory order, as a double.
  double AsDouble(int64_t i,
                  SourceLocation where = SourceLocation::Current()) const;

  // Makes 1 of every byte of a bool array that is neither 0 nor 1; what comes
  // from outside may have such.
  void MakeBoolsValid();

  // The same elements under other dims, of the same number of elements.
  NdArray Reshaped(Dims dims,
                   SourceLocation where = SourceLocation::Current()) const;

  // Equal dtype, dims and bits; NaNs equal NaNs whatever their payload.
  friend bool SameBits(const NdArray& a, const NdArray& b);

 private:
  // End the process. Without CHECK, which users may have as well.
  void CheckSize(size_t size, SourceLocation where) const;
  [[noreturn]] void OtherDType(DType asked, SourceLocation where) const;

  DType dtype_;
  Dims dims_;
  int64_t size_;
  std::vector<std::byte> data_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_NDARRAY_H_
