// SPDX-License-Identifier: Apache-2.0
//
// The stages with private buffers.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "ocannl/fuzz/programs/stages.h"

namespace ocannl::fuzz {
namespace {

// A part of an axis: `count` tiles of `size` from `first` on.
struct Part {
  int64_t first;
  int64_t count;
  int64_t size;
};

// `extent` in tiles, and a tail where they do not divide it.
std::vector<Part> PartsOf(int64_t extent, int64_t size) {
  size = std::min(size, extent);
  std::vector<Part> parts = {{0, extent / size, size}};
  int64_t tail = extent % size;
  if (tail > 0) parts.push_back({extent - tail, 1, tail});
  return parts;
}

// Place `inner` of the tile `tile`.
Index In(const Part& part, const Axis& tile, const Axis& inner) {
  return Index({{part.size, tile.iterator}, {1, inner.iterator}}, part.first);
}

void AddTiles(ProgramText& text, const Array& x, const Array& w, const Array& y,
              const Part& rows, const Part& columns, bool packed) {
  const Axis i = text.NewAxis(rows.count);
  const Axis j = text.NewAxis(columns.count);
  Array tile = text.Declare(Role::kPrivate, {rows.size, columns.size});
  auto over_tile = [&](auto statement) {
    Axis m = text.NewAxis(rows.size);
    Axis n = text.NewAxis(columns.size);
    return text.Nest({m, n}, statement(m, n));
  };
  std::string body;
  Array panel = w;
  if (packed) {
    panel = text.Declare(Role::kPrivate, {x.extents[1], columns.size});
    Axis k = text.NewAxis(x.extents[1]);
    Axis n = text.NewAxis(columns.size);
    body = text.Nest({k, n}, text.Assign(panel, {k, n},
                                         text.Read(w, {k, In(columns, j, n)})));
  }
  body += over_tile([&](const Axis& m, const Axis& n) {
    return text.Assign(tile, {m, n}, text.Literal("0"));
  });
  const Axis k = text.NewAxis(x.extents[1]);
  const absl::string_view step =
      IsFloat(text.dtype()) ? "fma($0, $1, $2)" : "$0 * $1 + $2";
  body +=
      text.Nest({k}, over_tile([&](const Axis& m, const Axis& n) {
                  Index column = packed ? Index(n) : In(columns, j, n);
                  return text.Assign(
                      tile, {m, n},
                      absl::Substitute(step, text.Read(x, {In(rows, i, m), k}),
                                       text.Read(panel, {k, column}),
                                       text.Cell(tile, {m, n})));
                }));
  body += over_tile([&](const Axis& m, const Axis& n) {
    return text.Assign(y, {In(rows, i, m), In(columns, j, n)},
                       text.Cell(tile, {m, n}));
  });
  text.AddNest({i, j}, body);
}

}  // namespace

Array TiledProduct(ProgramText& text, const Array& x, Role role) {
  constexpr int64_t kRows[] = {1, 2, 4, 7, 8, 14};
  constexpr int64_t kColumns[] = {1, 5, 8, 16, 17, 32, 48};
  constexpr int64_t kMostColumns = 100;
  Random& random = text.random();
  const int64_t columns = std::min(text.DrawExtent(), kMostColumns);
  Array w = text.Declare(Role::kIn, {x.extents[1], columns});
  Array y = text.Declare(role, {x.extents[0], columns});
  const int64_t row_size = random.Pick(kRows);
  const int64_t column_size = random.Pick(kColumns);
  const bool packed = random.OneIn(2);
  for (const Part& row_part : PartsOf(x.extents[0], row_size)) {
    for (const Part& column_part : PartsOf(columns, column_size)) {
      AddTiles(text, x, w, y, row_part, column_part, packed);
    }
  }
  return y;
}

Array SumInLanes(ProgramText& text, const Array& x, Role role) {
  Axes rows = text.NewAxes(x.extents);
  const int64_t extent = rows.back().extent;
  rows.pop_back();
  constexpr int64_t kLanes[] = {4, 16, 64, 64};
  const int64_t lanes = std::min(text.random().Pick(kLanes), extent);
  Array sums = text.Declare(Role::kPrivate, {lanes});
  Array y = text.Declare(role, Extents(x.extents.begin(), x.extents.end() - 1));
  auto cell_at = [&](Index column) {
    Indices all(rows.begin(), rows.end());
    all.push_back(std::move(column));
    return text.Read(x, all);
  };
  auto add = [&](const Axis& lane, const std::string& more) {
    return text.Assign(sums, {lane},
                       absl::StrCat(text.Cell(sums, {lane}), " + ", more));
  };
  const Axis first = text.NewAxis(lanes);
  std::string body =
      text.Nest({first}, text.Assign(sums, {first}, cell_at(first)));
  if (extent / lanes > 1) {
    const Axis step = text.NewAxis(extent / lanes - 1);
    const Axis lane = text.NewAxis(lanes);
    Index column({{lanes, step.iterator}, {1, lane.iterator}}, lanes);
    body += text.Nest({step, lane}, add(lane, cell_at(column)));
  }
  if (extent % lanes > 0) {
    const Axis lane = text.NewAxis(extent % lanes);
    Index column({{1, lane.iterator}}, extent / lanes * lanes);
    body += text.Nest({lane}, add(lane, cell_at(column)));
  }
  int64_t live = lanes;
  for (int64_t half = 32; half > 0; half /= 2) {
    if (live <= half) continue;
    const Axis lane = text.NewAxis(live - half);
    Index other({{1, lane.iterator}}, half);
    body += text.Nest({lane}, add(lane, text.Cell(sums, {other})));
    live = half;
  }
  body += text.Assign(y, Indices(rows.begin(), rows.end()),
                      text.Cell(sums, {Index({}, 0)}));
  // One statement of the program, which the private buffer belongs to.
  text.AddNest(rows.empty() ? Axes{text.NewAxis(1)} : text.Ordered(rows), body);
  return y;
}

}  // namespace ocannl::fuzz
