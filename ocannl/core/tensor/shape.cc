// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/shape.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {

absl::string_view Name(RowKind kind) {
  switch (kind) {
    case RowKind::kBatch:
      return "batch";
    case RowKind::kOutput:
      return "output";
    case RowKind::kInput:
      return "input";
  }
  __builtin_unreachable();
}

Dims Shape::dims() const {
  Dims all;
  for (const Dims& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

std::string ToString(const Shape& shape, const Bases& bases) {
  auto text = [&](RowKind kind) {
    const std::vector<std::string>& row = bases[static_cast<int>(kind)];
    std::vector<std::string> axes;
    for (int64_t size : shape[kind]) {
      const size_t k = axes.size();
      axes.push_back(size == 0 ? "_" : absl::StrCat(size));
      if (k < row.size() && !row[k].empty()) {
        absl::StrAppend(&axes.back(), " ", row[k]);
      }
    }
    return absl::StrJoin(axes, ",");
  };
  std::string batch = text(RowKind::kBatch);
  std::string input = text(RowKind::kInput);
  if (!batch.empty()) batch += "|";
  if (!input.empty()) input += "->";
  return absl::StrCat(batch, input, text(RowKind::kOutput));
}

ShapeSpec SpecOf(const Shape& shape) {
  ShapeSpec spec;
  for (RowKind kind : kRowKinds) spec[kind] = shape[kind];
  return spec;
}

}  // namespace ocannl
