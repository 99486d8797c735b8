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

std::string ToString(const Shape& shape) {
  std::string text;
  auto row = [](const Dims& sizes) {
    return absl::StrJoin(sizes, ",", [](std::string* out, int64_t size) {
      absl::StrAppend(out, size == 0 ? "_" : absl::StrCat(size));
    });
  };
  const Dims& batch = shape[RowKind::kBatch];
  const Dims& input = shape[RowKind::kInput];
  if (!batch.empty()) absl::StrAppend(&text, row(batch), "|");
  if (!input.empty()) absl::StrAppend(&text, row(input), "->");
  absl::StrAppend(&text, row(shape[RowKind::kOutput]));
  return text;
}

}  // namespace ocannl
