// SPDX-License-Identifier: Apache-2.0
#include "ocannl/print_values.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {
namespace {

constexpr int64_t kMaxPrinted = 1000;

// The text of one cell: a constant's without its dtype.
std::string PrintCell(const NdArray& array, int64_t at) {
  uint64_t bits = 0;
  size_t size = SizeOf(array.dtype());
  std::memcpy(&bits, array.data() + at * size, size);
  std::string text = PrintConstant(FromBits(array.dtype(), bits));
  return text.substr(0, text.find(':'));
}

}  // namespace

std::string PrintValues(const NdArray& array, absl::string_view when_cut) {
  int64_t line = array.dims().empty() ? 1 : array.dims().back();
  int64_t shown = std::min(array.size(), kMaxPrinted);
  std::string text;
  std::string row;
  for (int64_t k = 0; k < shown; ++k) {
    absl::StrAppend(&row, k % line == 0 ? "" : " ", PrintCell(array, k));
    if ((k + 1) % line != 0 && k + 1 != shown) continue;
    absl::StrAppend(&text, "  ", WrapWords(row, 2, 4), "\n");
    row.clear();
  }
  if (shown < array.size()) {
    absl::StrAppend(&text, "  ... ", array.size() - shown, " more", when_cut,
                    "\n");
  }
  return text;
}

}  // namespace ocannl
