// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/graph_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/fuzz/notation/slot_text.h"

namespace ocannl::fuzz {

std::string SlotText(const GraphAxes& axes) {
  RowTexts rows;
  for (const GraphAxis& axis : axes) {
    rows[static_cast<int>(axis.row)].push_back(axis.text);
  }
  return SlotText(rows);
}

Shape ShapeOf(const GraphAxes& axes) {
  Shape shape;
  for (const GraphAxis& axis : axes) shape[axis.row].push_back(axis.size);
  return shape;
}

int64_t CellsOf(const GraphAxes& axes) {
  int64_t cells = 1;
  for (const GraphAxis& axis : axes) {
    if (__builtin_mul_overflow(cells, axis.size, &cells)) return INT64_MAX;
  }
  return cells;
}

int64_t GraphState::Size() {
  static constexpr int64_t kNear[] = {7,  8,  9,  15, 16, 17,
                                      31, 32, 33, 63, 64, 65};
  switch (sizes) {
    case GraphSizes::kSmall:
      return 1 + random.Below(6);
    case GraphSizes::kOdd:
      return 1 + 2 * random.Below(17);
    case GraphSizes::kOnes:
      return random.OneIn(2) ? 1 : 2 + random.Below(20);
    case GraphSizes::kNearPowers:
      return random.Pick(kNear);
    case GraphSizes::kAny:
      return 1 + random.Below(100);
  }
  CHECK(false) << "no such sizes";
  __builtin_unreachable();
}

Shape GraphState::SomeShape(bool is_parameter) {
  GraphAxes axes;
  for (int64_t n = random.Below(4) + (is_parameter ? 1 : 0); n >= 0; --n) {
    GraphAxis axis{.text = "", .size = Size(), .row = Row()};
    if (is_parameter && axis.row == RowKind::kBatch) {
      axis.row = RowKind::kOutput;
    }
    axes.push_back(axis);
    if (CellsOf(axes) > most_cells) axes.pop_back();
  }
  return ShapeOf(axes);
}

const GraphValue& GraphState::Pick() {
  const auto count = static_cast<int64_t>(values.size());
  return random.OneIn(3) ? values[random.Below(count)] : values.back();
}

const GraphValue& GraphState::PickFloat() {
  for (int k = 0; k < 4; ++k) {
    const GraphValue& value = Pick();
    if (IsReal(value.dtype)) return value;
  }
  return values.front();
}

const GraphValue& GraphState::PickLike(const GraphValue& value) {
  std::vector<const GraphValue*> like;
  for (const GraphValue& other : values) {
    if (other.shape == value.shape && other.dtype == value.dtype) {
      like.push_back(&other);
    }
  }
  if (like.empty()) return value;
  return *like[random.Below(static_cast<int64_t>(like.size()))];
}

std::string GraphState::Letter() {
  CHECK_LT(letters, 26);
  return std::string(1, static_cast<char>('a' + letters++));
}

GraphAxes GraphState::NamedAxes(const GraphValue& value) {
  GraphAxes axes;
  for (RowKind kind : kRowKinds) {
    for (int64_t size : value.shape[kind]) {
      axes.push_back({.text = Letter(), .size = size, .row = kind});
    }
  }
  return axes;
}

GraphAxes GraphState::Shuffled(GraphAxes axes) {
  for (size_t k = axes.size(); k > 1; --k) {
    std::swap(axes[k - 1], axes[random.Below(static_cast<int64_t>(k))]);
  }
  if (random.OneIn(3)) return axes;
  for (GraphAxis& axis : axes) axis.row = Row();
  return axes;
}

std::string GraphState::Parameter(const Shape& shape) {
  auto row = [&](const char* name, RowKind kind) {
    return absl::StrCat("; ", name, "=[", absl::StrJoin(shape[kind], ", "),
                        "]");
  };
  std::string text = absl::StrCat("{w", parameters++);
  if (random.OneIn(2)) absl::StrAppend(&text, " = uniform()");
  absl::StrAppend(&text, row("o", RowKind::kOutput));
  return absl::StrCat(text, row("i", RowKind::kInput), "}");
}

GraphValue Reduced(const GraphValue& v, absl::string_view symbol,
                   const GraphAxes& operand, const GraphAxes& result,
                   absl::string_view rules) {
  return {
      .text = absl::StrCat("(", v.text, " ", symbol, " \"", SlotText(operand),
                           " => ", SlotText(result), "\"", rules, ")"),
      .shape = ShapeOf(result),
      .dtype = v.dtype};
}

std::optional<size_t> PickAxis(GraphState& s, const GraphAxes& axes) {
  if (axes.empty()) return std::nullopt;
  return s.random.Below(static_cast<int64_t>(axes.size()));
}

std::optional<EndAxis> PickEnd(GraphState& s, const Shape& shape) {
  const RowKind row = s.Row();
  const bool is_first = s.random.OneIn(2);
  if (shape[row].empty()) return std::nullopt;
  const std::string named = is_first ? "i, ..." : "..., i";
  auto text = [&](RowKind kind) { return kind == row ? named : "..."; };
  return EndAxis{absl::StrCat(text(RowKind::kBatch), "|", text(RowKind::kInput),
                              "->", text(RowKind::kOutput)),
                 row, is_first ? 0 : shape[row].size() - 1};
}

}  // namespace ocannl::fuzz
