// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/slot_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl::fuzz {

std::string SlotText(const RowTexts& rows) {
  auto row = [&](RowKind kind, absl::string_view end) {
    const auto& texts = rows[static_cast<int>(kind)];
    return texts.empty() ? "" : absl::StrCat(absl::StrJoin(texts, ", "), end);
  };
  const std::string batch = row(RowKind::kBatch, "|");
  const std::string input = row(RowKind::kInput, "->");
  return absl::StrCat(batch, input, row(RowKind::kOutput, ""));
}

}  // namespace ocannl::fuzz
