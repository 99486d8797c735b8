// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/ndarray.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ocannl/core/base/check.h"

namespace ocannl {

int64_t NumElements(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

NdArray::NdArray(DType dtype, Dims dims)
    : dtype_(dtype),
      dims_(std::move(dims)),
      size_(NumElements(dims_)),
      data_(size_ * SizeOf(dtype)) {}

double NdArray::AsDouble(int64_t i) const {
  return VisitDType(dtype_, [&](auto zero) {
    return static_cast<double>(values<decltype(zero)>()[i]);
  });
}

void NdArray::MakeBoolsValid() {
  if (dtype_ != DType::kBool) return;
  for (std::byte& byte : data_) byte = std::byte{byte != std::byte{0}};
}

NdArray NdArray::Reshaped(Dims dims) const {
  CHECK_EQ(NumElements(dims), size_);
  NdArray reshaped = *this;
  reshaped.dims_ = std::move(dims);
  return reshaped;
}

void NdArray::CheckSize(size_t size) const {
  CHECK_EQ(size, size_) << "values of an array";
}

void NdArray::OtherDType(DType asked) const {
  CHECK(asked == dtype_) << "asked for " << Name(asked) << " of an array of "
                         << Name(dtype_);
  std::abort();
}

bool SameBits(const NdArray& a, const NdArray& b) {
  if (a.dtype_ != b.dtype_ || a.dims_ != b.dims_) return false;
  if (a.AsString() == b.AsString()) return true;
  return VisitDType(a.dtype_, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || kIsNarrow<T>) {
      auto is_nan = [](T x) { return std::isnan(static_cast<double>(x)); };
      for (int64_t i = 0; i < a.size_; ++i) {
        T x = a.values<T>()[i];
        T y = b.values<T>()[i];
        bool same = std::memcmp(&x, &y, sizeof(T)) == 0;
        if (!same && !(is_nan(x) && is_nan(y))) return false;
      }
      return true;
    }
    return false;
  });
}

}  // namespace ocannl
