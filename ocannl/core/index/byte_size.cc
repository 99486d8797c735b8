// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/byte_size.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 62;

}  // namespace

absl::StatusOr<int64_t> ByteSize(DType dtype, absl::Span<const int64_t> dims) {
  auto bytes = static_cast<int64_t>(SizeOf(dtype));
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("an array of ", DescribeArray(dtype, dims),
                       " has a negative dim; dims count from 0"));
    }
    empty = empty || dim == 0;
    // The strides of an empty array must be representable too.
    int64_t factor = std::max<int64_t>(dim, 1);
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > kMostBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("an array of ", DescribeArray(dtype, dims),
                       " has more than 2^62 bytes; use smaller dims"));
    }
  }
  return empty ? 0 : bytes;
}

std::string DescribeArray(DType dtype, absl::Span<const int64_t> dims) {
  return absl::StrCat(Name(dtype), "[", absl::StrJoin(dims, ", "), "]");
}

}  // namespace ocannl
