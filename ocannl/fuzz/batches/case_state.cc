// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/batches/case_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/fuzz/notation/slot_text.h"

namespace ocannl::fuzz {
namespace {

// Around vectors, lanes and the blocks of cascaded sums.
constexpr int64_t kExtents[] = {1,  1,   2,   3,   3,   4,   5,    7,
                                8,  10,  31,  32,  33,  63,  64,   65,
                                96, 127, 128, 129, 200, 256, 1024, 1025};

std::string JoinRows(absl::Span<const CaseAxis> axes,
                     absl::FunctionRef<std::string(const CaseAxis&)> text) {
  RowTexts rows;
  for (const CaseAxis& axis : axes) {
    rows[static_cast<int>(axis.row)].push_back(text(axis));
  }
  return SlotText(rows);
}

}  // namespace

std::string SlotOf(absl::Span<const CaseAxis> axes) {
  return JoinRows(axes, [](const CaseAxis& axis) { return axis.text; });
}

std::string ShapeTextOf(absl::Span<const CaseAxis> axes) {
  return JoinRows(axes, [](const CaseAxis& axis) { return axis.size; });
}

std::string ReducedText(const CaseValue& v, absl::string_view symbol,
                        absl::Span<const CaseAxis> operand,
                        absl::Span<const CaseAxis> result) {
  return absl::StrCat("(", v.text, " ", symbol, " \"", SlotOf(operand), " => ",
                      SlotOf(result), "\")");
}

std::vector<size_t> OtherAxes(const CaseAxes& axes) {
  std::vector<size_t> others;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (!axes[k].is_rows()) others.push_back(k);
  }
  return others;
}

CaseValue ReducedAlong(CaseState& s, const CaseValue& v,
                       absl::string_view symbol, size_t k) {
  s.letters = 0;
  const CaseAxes all = s.Named(v.axes);
  CaseAxes result = all;
  result[k].text = std::string("0");  // of a literal, GCC 12 warns falsely
  const std::string text = ReducedText(v, symbol, all, result);
  result[k].size = s.NewSize(1);
  return {text, result, v.is_zero};
}

std::string CaseState::NewSize(int64_t cells) {
  const std::string name = absl::StrCat("s", made.sizes.size());
  made.sizes[name] = cells;
  return name;
}

std::string CaseState::Size(int64_t most) {
  if (!made.sizes.empty() && random.OneIn(3)) {
    auto at = made.sizes.begin();
    std::advance(at, random.Below(static_cast<int64_t>(made.sizes.size())));
    if (at->second <= most) return at->first;
  }
  const auto* end = std::upper_bound(std::begin(kExtents), std::end(kExtents),
                                     std::max<int64_t>(most, 1));
  return NewSize(kExtents[random.Below(end - std::begin(kExtents))]);
}

int64_t CaseState::CellsOf(const std::string& size) const {
  return size == "#" ? 1 : made.sizes.at(size);
}

int64_t CaseState::CellsOf(absl::Span<const CaseAxis> axes) const {
  int64_t cells = 1;
  for (const CaseAxis& axis : axes) cells *= CellsOf(axis.size);
  return cells;
}

std::string CaseState::Letter() {
  static constexpr char kLetters[] = "abcdefghijklmnopqstuvwxyz";  // no r
  return std::string(1, kLetters[letters++ % (sizeof(kLetters) - 1)]);
}

CaseAxes CaseState::Named(CaseAxes axes) {
  for (CaseAxis& axis : axes) axis.text = axis.is_rows() ? "#" : Letter();
  return axes;
}

CaseAxes CaseState::WithRows(CaseAxes axes) {
  CaseAxis rows{.size = "#", .text = "#"};
  auto at = axes.begin();
  if (place == RowsPlace::kBatch) rows.row = RowKind::kBatch;
  if (place == RowsPlace::kAny) {
    at += random.Below(static_cast<int64_t>(axes.size()) + 1);
  }
  axes.insert(at, rows);
  return axes;
}

const CaseValue& CaseState::Pick() {
  if (!random.OneIn(3)) return values.back();
  return values[random.Below(static_cast<int64_t>(values.size()))];
}

std::optional<size_t> CaseState::PickOther(const CaseAxes& axes) {
  const std::vector<size_t> others = OtherAxes(axes);
  if (others.empty()) return std::nullopt;
  return random.Pick(others);
}

CaseAxes CaseState::Shuffled(CaseAxes axes) {
  const bool has_rows =
      std::any_of(axes.begin(), axes.end(),
                  [](const CaseAxis& axis) { return axis.is_rows(); });
  std::erase_if(axes, [](const CaseAxis& axis) { return axis.is_rows(); });
  if (random.OneIn(3)) random.Shuffle(axes);
  return has_rows ? WithRows(std::move(axes)) : axes;
}

bool CaseState::Fits(int64_t of_one_row) {
  if (of_one_row > kMostPoints) return false;
  points = std::max(points, of_one_row);
  return true;
}

std::string CaseState::Parameter(absl::Span<const CaseAxis> axes) {
  std::string rows;
  for (RowKind row : {RowKind::kInput, RowKind::kOutput}) {
    std::vector<std::string> sizes;
    for (const CaseAxis& axis : axes) {
      if (axis.row == row) sizes.push_back(axis.size);
    }
    absl::StrAppend(&rows, row == RowKind::kInput ? "; i=[" : "; o=[",
                    absl::StrJoin(sizes, ", "), "]");
  }
  return absl::StrCat("{w", parameters++, rows, "}");
}

CaseValue CaseState::Operand(CaseAxes axes, BatchPadding padding) {
  const std::string name = absl::StrCat("x", made.operands.size());
  made.operands.push_back({name, ShapeTextOf(axes), padding});
  return {name, std::move(axes), padding == BatchPadding::kZero};
}

const CaseValue& CaseState::Let(CaseValue value) {
  const std::string name = absl::StrCat("v", made.lets.size());
  made.lets.push_back(
      {name, std::move(value.text), ShapeTextOf(value.axes),
       value.is_zero ? BatchPadding::kZero : BatchPadding::kAny});
  value.text = name;
  values.push_back(std::move(value));
  return values.back();
}

}  // namespace ocannl::fuzz
