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
  const Dims& batch = shape[RowKind::kBatch];
  const Dims& input = shape[RowKind::kInput];
  if (!batch.empty()) absl::StrAppend(&text, absl::StrJoin(batch, ","), "|");
  if (!input.empty()) absl::StrAppend(&text, absl::StrJoin(input, ","), "->");
  absl::StrAppend(&text, absl::StrJoin(shape[RowKind::kOutput], ","));
  return text;
}

}  // namespace ocannl
