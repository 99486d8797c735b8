// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/hints.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {

std::optional<std::pair<int64_t, int64_t>> Difference(const Dims& a,
                                                      const Dims& b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != 0 && y != 0 && x != y) return std::make_pair(x, y);
  }
  return std::nullopt;
}

std::string BroadcastSpec(absl::FunctionRef<std::optional<Dims>(RowKind)> row,
                          RowKind kind, const Dims& other) {
  const Dims dims = *row(kind);
  std::vector<std::string> axes(dims.size());
  char letter = 'i';
  const bool has_letters = dims.size() <= 'z' - 'i' + 1;
  for (size_t k = 0; k < dims.size(); ++k) {
    const size_t from_right = dims.size() - k;
    const bool differs = dims[k] == 1 && from_right <= other.size() &&
                         other[other.size() - from_right] != 1;
    axes[k] = differs       ? "0"
              : has_letters ? std::string(1, letter++)
                            : absl::StrCat("i", k);
  }
  std::string slot;
  for (RowKind each : {RowKind::kBatch, RowKind::kInput, RowKind::kOutput}) {
    if (each != kind && row(each) == Dims()) continue;
    absl::StrAppend(&slot, each == kind ? absl::StrJoin(axes, ",") : "...",
                    each == RowKind::kBatch   ? "|"
                    : each == RowKind::kInput ? "->"
                                              : "");
  }
  return absl::StrCat(slot, " => ", slot);
}

std::string OneCellSpec(const EinsumSpec& spec, const EinsumRow& row,
                        int axis) {
  const bool is_name =
      axis < static_cast<int>(row.begin.size()) && row.begin[axis].is_plain();
  if (!is_name) return "";
  EinsumSpec read = spec;
  for (size_t k = 0; k < spec.operands.size(); ++k) {
    for (size_t kind = 0; kind < spec.operands[k].size(); ++kind) {
      if (&spec.operands[k][kind] != &row) continue;
      read.operands[k][kind].begin[axis] = EinsumAxis();
      return ToString(read);
    }
  }
  return "";
}

std::string NoDivisor(int64_t divisor, int64_t size) {
  if (size % divisor == 0) return "";
  return absl::StrCat(": ", divisor, " does not divide ", size);
}

std::string DoNotFill(const Dims& dims, const Dims& shape) {
  Dims given = shape;
  std::erase(given, 0);
  const std::optional<int64_t> cells = KnownCells(dims);
  const std::optional<int64_t> filled = KnownCells(given);
  if (!cells || !filled) return "";
  if (given.size() < shape.size()) return NoDivisor(*filled, *cells);
  return absl::StrCat(": there are ", *cells, ", and it has ", *filled);
}

std::optional<int64_t> KnownCells(const Dims& dims) {
  constexpr int64_t kMost = int64_t{1} << 46;
  int64_t cells = 1;
  for (int64_t size : dims) {
    if (size < 1 || size > kMost / cells) return std::nullopt;
    cells *= size;
  }
  return cells;
}

}  // namespace ocannl
