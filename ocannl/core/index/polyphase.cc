// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/polyphase.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ocannl/core/index/division.h"

namespace ocannl {
namespace {

// Each phase is a nest of its own in the program.
constexpr int64_t kMaxPhases = 16;

// An axis of lhs: stride * window + dilation * cell + offset.
struct WindowAxis {
  Symbol window, cell;
  int64_t stride, dilation, offset;
};

// Whether `symbol` alone runs over a whole axis of the operand.
bool RunsOver(Symbol symbol, int64_t extent, const Indices& operand,
              absl::Span<const int64_t> dims) {
  for (size_t axis = 0; axis < operand.size(); ++axis) {
    if (operand[axis] == Affine(symbol)) return dims[axis] == extent;
  }
  return false;
}

std::optional<WindowAxis> AsWindowAxis(const Projections& sum, size_t axis,
                                       size_t windows,
                                       absl::Span<const int64_t> window_dims) {
  const Affine& index = sum.lhs[axis];
  if (index.terms().size() != 2) return std::nullopt;
  Affine::Term window = index.terms()[0], cell = index.terms()[1];
  for (int turn = 0; turn < 2; ++turn, std::swap(window, cell)) {
    if (window.symbol.kind == Symbol::kStatic ||
        cell.symbol.kind == Symbol::kStatic || window.factor < 1 ||
        cell.factor < 1 || (window.factor > 1 && cell.factor > 1)) {
      return std::nullopt;
    }
    if (RunsOver(window.symbol, sum.extents[window.symbol.iterator()],
                 sum.operands[windows], window_dims)) {
      return WindowAxis{.window = window.symbol,
                        .cell = cell.symbol,
                        .stride = window.factor,
                        .dilation = cell.factor,
                        .offset = index.offset()};
    }
  }
  return std::nullopt;
}

// Whether no two windows of the axis share a cell, and none has one outside.
bool AreDisjoint(const Projections& sum, const WindowAxis& axis, int64_t dim) {
  const int64_t last_cell =
      axis.dilation * (sum.extents[axis.cell.iterator()] - 1);
  const int64_t last_window =
      axis.stride * (sum.extents[axis.window.iterator()] - 1);
  return last_cell < axis.stride && axis.offset >= 0 &&
         axis.offset + last_window + last_cell < dim;
}

// Whether another axis of lhs depends on them, too.
bool IsShared(const Projections& sum, size_t axis, const WindowAxis& window) {
  for (size_t other = 0; other < sum.lhs.size(); ++other) {
    if (other == axis) continue;
    if (sum.lhs[other].FactorOf(window.window) != 0 ||
        sum.lhs[other].FactorOf(window.cell) != 0) {
      return true;
    }
  }
  return false;
}

// The terms of the cells stride * u + phase + offset, where u is
// window + reach * j and cell = stride * j + phase; none where there are none.
std::optional<Projections> Phase(const Projections& sum, const WindowAxis& axis,
                                 int64_t dim, int64_t phase) {
  const Symbol window = axis.window;
  const Symbol cell = axis.cell;
  const int64_t stride = axis.stride;
  const int64_t cells = sum.extents[cell.iterator()];
  const int64_t taps = FloorDiv(cells - phase + stride - 1, stride);
  const int64_t shift = phase + axis.offset;
  const int64_t least = std::max<int64_t>(0, -FloorDiv(shift, stride));
  const int64_t most =
      std::min(sum.extents[window.iterator()] - 1 + axis.dilation * (taps - 1),
               FloorDiv(dim - 1 - shift, stride));
  if (taps < 1 || most < least) return std::nullopt;
  Projections result = sum;
  result.extents[window.iterator()] = most - least + 1;
  result.extents[cell.iterator()] = taps;
  auto substitution = [&](Symbol symbol) -> Affine {
    const Affine same = symbol;
    if (symbol == window) return same + least + -axis.dilation * Affine(cell);
    if (symbol == cell) return stride * same + phase;
    return same;
  };
  auto substitute = [&](Indices& indices) {
    for (Affine& index : indices) index = index.Substitute(substitution);
  };
  substitute(result.lhs);
  for (Indices& operand : result.operands) substitute(operand);
  return result;
}

}  // namespace

std::vector<Projections> DecomposePhases(
    const Projections& sum, size_t windows, absl::Span<const int64_t> dims,
    absl::Span<const int64_t> window_dims) {
  std::vector<Projections> phases(1, sum);
  int64_t count = 1;
  for (size_t axis = 0; axis < sum.lhs.size(); ++axis) {
    auto window = AsWindowAxis(sum, axis, windows, window_dims);
    if (!window || IsShared(sum, axis, *window)) continue;
    if (AreDisjoint(sum, *window, dims[axis])) continue;
    count *= window->stride;
    if (count > kMaxPhases) return {sum};
    std::vector<Projections> finer;
    for (const Projections& coarser : phases) {
      for (int64_t phase = 0; phase < window->stride; ++phase) {
        auto found = Phase(coarser, *window, dims[axis], phase);
        if (found) finer.push_back(*std::move(found));
      }
    }
    phases = std::move(finer);
  }
  return phases;
}

}  // namespace ocannl
