// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/shape.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace ocannl {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 40;

// Sizes, with bases behind them, and commas between; nothing is an empty row.
bool ParseRow(absl::string_view text, RowKind kind, ShapeSpec& spec) {
  Dims& sizes = spec[kind].emplace();
  std::vector<std::string> bases;
  if (absl::StripAsciiWhitespace(text).empty()) return true;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(part, ' ', absl::SkipWhitespace());
    int64_t size;
    if (words.empty() || words.size() > 2 ||
        !absl::SimpleAtoi(words[0], &size) || size < 1 || size > kMaxSize) {
      return false;
    }
    sizes.push_back(size);
    bases.emplace_back(words.size() > 1 ? words[1] : "");
    if (!absl::c_all_of(bases.back(), absl::ascii_isalnum) ||
        (words.size() > 1 && absl::ascii_isdigit(words[1][0]))) {
      return false;
    }
  }
  const bool any =
      absl::c_any_of(bases, [](const auto& basis) { return !basis.empty(); });
  if (any) spec.bases.Mutable()[static_cast<int>(kind)] = std::move(bases);
  return true;
}

}  // namespace

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
  all.reserve(rows[0].size() + rows[1].size() + rows[2].size());
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

absl::StatusOr<ShapeSpec> ParseRows(absl::string_view text) {
  absl::string_view rest = text;
  // What is before `mark`, if it is there.
  auto take = [&](absl::string_view mark) {
    const size_t at = rest.find(mark);
    if (at == absl::string_view::npos) return absl::string_view();
    const absl::string_view row = rest.substr(0, at);
    rest.remove_prefix(at + mark.size());
    return row;
  };
  ShapeSpec spec;
  const absl::string_view batch = take("|");
  const absl::string_view input = take("->");
  if (ParseRow(batch, RowKind::kBatch, spec) &&
      ParseRow(input, RowKind::kInput, spec) &&
      ParseRow(rest, RowKind::kOutput, spec)) {
    return spec;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("`", text, "` is not a shape; write sizes from 1 as ",
                   "batch|input->output, such as 50|64 or 2|3->4"));
}

}  // namespace ocannl
