// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/first_difference.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {
namespace {

Constant CellOf(const NdArray& array, int64_t cell) {
  uint64_t bits = 0;
  size_t size = SizeOf(array.dtype());
  std::memcpy(&bits, array.data() + cell * size, size);
  return FromBits(array.dtype(), bits);
}

std::string Describe(const Constant& value) {
  return absl::StrFormat("%s (bits %#x)", PrintConstant(value), value.bits);
}

std::string IndexOf(int64_t cell, const Dims& dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = cell % dims[axis];
    cell /= dims[axis];
  }
  return absl::StrCat("[", absl::StrJoin(index, ", "), "]");
}

}  // namespace

std::string FirstDifference(const Buffer& buffer, const NdArray& expected,
                            const NdArray& actual) {
  if (SameBits(expected, actual)) return "";
  int64_t differ = 0;
  std::string first;
  for (int64_t cell = 0; cell < expected.size(); ++cell) {
    Constant want = CellOf(expected, cell);
    Constant have = CellOf(actual, cell);
    if (want == have || ++differ > 1) continue;
    first = absl::StrCat(buffer.name, IndexOf(cell, buffer.dims), " is ",
                         Describe(have), ", not ", Describe(want));
  }
  return absl::StrCat(first, "; ", differ, " of ", expected.size(),
                      " cells differ");
}

}  // namespace ocannl
