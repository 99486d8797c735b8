// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/ndarray.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {
namespace {

std::string DimsText(const Dims& dims) {
  return absl::StrCat("{", absl::StrJoin(dims, ", "), "}");
}

// Ends the process with the line of the caller.
[[noreturn]] void Fail(SourceLocation where, absl::string_view message) {
  std::fprintf(stderr, "%s:%d: NdArray %s\n", where.file, where.line,
               std::string(message).c_str());
  std::fflush(stderr);
  std::abort();
}

// The product of `dims`, if an array can have as many cells.
int64_t NumCells(DType dtype, const Dims& dims, SourceLocation where) {
  int64_t cells = 1;
  int64_t bytes = 0;
  for (int64_t dim : dims) {
    if (dim < 0) {
      Fail(where, absl::StrCat("of dims ", DimsText(dims), ": ", dim,
                               " is below 0; give sizes from 0"));
    }
    if (__builtin_mul_overflow(cells, dim, &cells)) cells = -1;
    if (cells < 0) break;
  }
  if (cells < 0 || __builtin_mul_overflow(
                       cells, static_cast<int64_t>(SizeOf(dtype)), &bytes)) {
    Fail(where, absl::StrCat("of dims ", DimsText(dims),
                             " has 2^63 bytes or more; give smaller sizes"));
  }
  return cells;
}

}  // namespace

int64_t NumElements(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

NdArray::NdArray(DType dtype, Dims dims, SourceLocation where)
    : dtype_(dtype),
      dims_(std::move(dims)),
      size_(NumCells(dtype, dims_, where)),
      data_(size_ * SizeOf(dtype)) {}

double NdArray::AsDouble(int64_t i, SourceLocation where) const {
  if (i < 0 || i >= size_) {
    Fail(where, absl::StrCat("element ", i, " of an array of ", size_,
                             "; give a number below that"));
  }
  return VisitDType(dtype_, [&](auto zero) {
    return static_cast<double>(values<decltype(zero)>()[i]);
  });
}

void NdArray::MakeBoolsValid() {
  if (dtype_ != DType::kBool) return;
  for (std::byte& byte : data_) byte = std::byte{byte != std::byte{0}};
}

NdArray NdArray::Reshaped(Dims dims, SourceLocation where) const {
  if (NumCells(dtype_, dims, where) != size_) {
    Fail(where, absl::StrCat("of dims ", DimsText(dims_), " has ", size_,
                             " cells, and dims ", DimsText(dims), " have ",
                             NumElements(dims), "; give as many"));
  }
  NdArray reshaped = *this;
  reshaped.dims_ = std::move(dims);
  return reshaped;
}

void NdArray::CheckSize(size_t size, SourceLocation where) const {
  if (size == static_cast<size_t>(size_)) return;
  Fail(where,
       absl::StrCat("of dims ", DimsText(dims_), " has ", size_, " cells, and ",
                    size, " values are given; give one for each cell"));
}

void NdArray::OtherDType(DType asked, SourceLocation where) const {
  Fail(where, absl::StrCat("asked for values of ", Name(asked),
                           ", but the array is ", Name(dtype_), "; ask for ",
                           Name(dtype_), ", or use AsDouble"));
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
