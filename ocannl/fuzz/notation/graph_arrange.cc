// SPDX-License-Identifier: Apache-2.0
//
// Operations that put cells elsewhere: by axes, or by parts of axes.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/fuzz/notation/graph_ops.h"

namespace ocannl::fuzz {
namespace {

using Made = std::optional<GraphValue>;

Made Permute(GraphState& s) {
  const GraphValue& v = s.Pick();
  const GraphAxes axes = s.NamedAxes(v);
  return Reduced(v, "++", axes, s.Shuffled(axes));
}

GraphValue ReshapeOf(GraphState& s, const GraphValue& v) {
  int64_t left = NumElements(v.shape.dims());
  GraphAxes axes;
  for (int64_t n = s.random.Below(4); n > 0; --n) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= std::min<int64_t>(left, 100); ++d) {
      if (left % d == 0) divisors.push_back(d);
    }
    const int64_t size =
        divisors[s.random.Below(static_cast<int64_t>(divisors.size()))];
    axes.push_back({.text = "", .size = size, .row = s.Row()});
    left /= size;
  }
  axes.push_back({.text = "", .size = left, .row = s.Row()});
  axes = s.Shuffled(std::move(axes));
  const Shape shape = ShapeOf(axes);
  return GraphValue{
      absl::StrCat("reshape(\"", ToString(shape), "\", ", v.text, ")"), shape,
      v.dtype};
}

Made Reshape(GraphState& s) { return ReshapeOf(s, s.Pick()); }

// Cells in another order of memory, under other axes.
Made ReshapePermuted(GraphState& s) { return ReshapeOf(s, *Permute(s)); }

Made Part(GraphState& s) {
  const GraphValue& v = s.Pick();
  const auto end = PickEnd(s, v.shape);
  if (!end) return std::nullopt;
  Shape shape = v.shape;
  int64_t& size = shape[end->row][end->place];
  const int64_t start = s.random.Below(size);
  size = 1 + s.random.Below(size - start);
  return GraphValue{absl::StrCat("part(\"", end->spec, "\", ", v.text, ", ",
                                 start, ", ", size, ")"),
                    shape, v.dtype};
}

Made EveryNth(GraphState& s) {
  const GraphValue& v = s.Pick();
  const auto end = PickEnd(s, v.shape);
  if (!end) return std::nullopt;
  Shape shape = v.shape;
  int64_t& size = shape[end->row][end->place];
  const int64_t step = 1 + s.random.Below(4);
  if (size % step != 0) return std::nullopt;
  size /= step;
  const int64_t first = s.random.Below(step);
  return GraphValue{absl::StrCat("every_nth(\"", end->spec, "\", ", v.text,
                                 ", ", step, ", ", first, ")"),
                    shape, v.dtype};
}

Made Stack(GraphState& s) {
  const GraphValue& v = s.Pick();
  const GraphValue& w = s.PickLike(v);
  Shape shape = v.shape;
  if (shape.dims().size() > 5) return std::nullopt;
  const bool is_first = s.random.OneIn(2);
  Dims& row = shape[RowKind::kOutput];
  row.insert(is_first ? row.begin() : row.end(), 2);
  return GraphValue{
      absl::StrCat("stack(\"...|...->", is_first ? "i, ..." : "..., i", "\", ",
                   v.text, ", ", w.text, ")"),
      shape, v.dtype};
}

Made Interleave(GraphState& s) {
  const GraphValue& v = s.Pick();
  const GraphValue& w = s.PickLike(v);
  const auto end = PickEnd(s, v.shape);
  if (!end) return std::nullopt;
  Shape shape = v.shape;
  shape[end->row][end->place] *= 2;
  return GraphValue{absl::StrCat("interleave(\"", end->spec, "\", ", v.text,
                                 ", ", w.text, ")"),
                    shape, v.dtype};
}

// Two or three values one after the other, in another order of axes.
Made Concatenate(GraphState& s) {
  const GraphValue& v = s.Pick();
  GraphAxes axes = s.NamedAxes(v);
  const auto along = PickAxis(s, axes);
  if (!along) return std::nullopt;
  GraphAxes result = axes;
  std::string slots = SlotText(axes);
  std::string others;
  for (int64_t n = 1 + s.random.Below(2); n > 0; --n) {
    axes[*along].text = s.Letter();
    absl::StrAppend(&slots, "; ", SlotText(axes));
    absl::StrAppend(&others, " ", s.PickLike(v).text);
    absl::StrAppend(&result[*along].text, "^", axes[*along].text);
    result[*along].size += axes[*along].size;
  }
  result = s.Shuffled(std::move(result));
  return GraphValue{absl::StrCat("(", v.text, " ++^ \"", slots, " => ",
                                 SlotText(result), "\"", others, ")"),
                    ShapeOf(result), v.dtype};
}

Made Stride(GraphState& s) {
  const GraphValue& v = s.Pick();
  GraphAxes axes = s.NamedAxes(v);
  const auto k = PickAxis(s, axes);
  const int64_t step = 2 + s.random.Below(3);
  if (!k || axes[*k].size % step != 0) return std::nullopt;
  GraphAxes result = axes;
  result[*k].size /= step;
  const int64_t first = s.random.Below(step);
  axes[*k].text = absl::StrCat(step, "*", axes[*k].text, "+", first);
  return Reduced(v, "++", axes, s.Shuffled(std::move(result)));
}

// A cell of an axis, and one that is written into a larger axis of zeros.
Made Position(GraphState& s) {
  const GraphValue& v = s.Pick();
  GraphAxes axes = s.NamedAxes(v);
  const auto k = PickAxis(s, axes);
  if (!k) return std::nullopt;
  GraphAxes result = axes;
  result.erase(result.begin() + static_cast<int64_t>(*k));
  axes[*k].text = absl::StrCat(s.random.Below(axes[*k].size));
  if (s.random.OneIn(2)) {
    const int64_t place = s.random.Below(4);
    result.push_back({absl::StrCat(place), place + 1, s.Row()});
    s.is_open = true;
  }
  return Reduced(v, "++", axes, s.Shuffled(std::move(result)));
}

Made Diagonal(GraphState& s) {
  const GraphValue& v = s.Pick();
  GraphAxes axes = s.NamedAxes(v);
  for (size_t k = 1; k < axes.size(); ++k) {
    if (axes[k].size != axes[k - 1].size) continue;
    GraphAxes result = axes;
    result.erase(result.begin() + static_cast<int64_t>(k));
    axes[k].text = axes[k - 1].text;
    return Reduced(v, "++", axes, s.Shuffled(std::move(result)));
  }
  return std::nullopt;
}

constexpr GraphOp kArrangingOps[] = {
    {"permute", GraphFocus::kArrange, Permute, /*weight=*/2},
    {"reshape", GraphFocus::kArrange, Reshape, /*weight=*/2},
    {"reshape_permuted", GraphFocus::kArrange, ReshapePermuted, /*weight=*/6},
    {"part", GraphFocus::kArrange, Part},
    {"every_nth", GraphFocus::kArrange, EveryNth},
    {"stack", GraphFocus::kArrange, Stack},
    {"interleave", GraphFocus::kArrange, Interleave},
    {"concatenate", GraphFocus::kArrange, Concatenate},
    {"stride", GraphFocus::kArrange, Stride},
    {"position", GraphFocus::kArrange, Position},
    {"diagonal", GraphFocus::kArrange, Diagonal},
};

}  // namespace

absl::Span<const GraphOp> ArrangingOps() { return kArrangingOps; }

}  // namespace ocannl::fuzz
