// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/position.h"

#include <cmath>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/train/blocks/call.h"

namespace ocannl::train {
namespace {

// A table of length|size/2,cells... whose numbers are of the angle of a pair.
Tensor Table(const ParamScope& scope, const Positions& positions, Dims cells,
             absl::FunctionRef<double(double angle, int64_t cell)> number,
             SourceLocation where) {
  const int64_t length = positions.length;
  const int64_t size = positions.size;
  const double base = positions.base;
  if (length < 1 || size < 2 || size % 2 != 0 || !(base > 0)) {
    return OptionError(scope,
                       absl::StrCat("positions of length ", length, ", size ",
                                    size, " and base ", base,
                                    "; the size must be even, and all above 0"),
                       where);
  }
  const int64_t per_pair = NumElements(cells);
  const DType dtype = scope.dtype.value_or(scope.graph->default_dtype());
  NdArray table(dtype, {length * size / 2 * per_pair});
  VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < table.size(); ++k) {
      const int64_t pair = k / per_pair % (size / 2);
      const auto position = static_cast<double>(k / (per_pair * (size / 2)));
      const double frequency = std::pow(
          base, -2 * static_cast<double>(pair) / static_cast<double>(size));
      table.values<T>()[k] =
          number::Convert<T>(number(position * frequency, k % per_pair));
    }
  });
  ShapeSpec spec;
  spec[RowKind::kBatch] = Dims{length};
  spec[RowKind::kOutput] = cells.size() > 1 ? Dims{size / 2, cells[0], cells[1]}
                                            : Dims{size / 2 * per_pair};
  spec[RowKind::kInput] = Dims{};
  return Data(*scope.graph, (scope / "positions").name, std::move(table), spec,
              where);
}

// Of the cells p and q of a pair of `x`: what cell p adds to the turned cell q.
Tensor Turns(ParamScope scope, const Positions& positions, Tensor x,
             SourceLocation where) {
  scope.dtype = DecidedDType(x);
  return Table(
      scope, positions, {2, 2},
      [](double angle, int64_t cell) {
        if (cell == 0 || cell == 3) return std::cos(angle);
        return cell == 1 ? std::sin(angle) : -std::sin(angle);
      },
      where);
}

}  // namespace

Tensor SinusoidalPositions(const ParamScope& scope, const Positions& positions,
                           SourceLocation where) {
  return Table(
      scope, positions, {2},
      [](double angle, int64_t cell) {
        return cell == 0 ? std::sin(angle) : std::cos(angle);
      },
      where);
}

Tensor Rope(const ParamScope& scope, const Positions& positions, Tensor x,
            SourceLocation where) {
  CallScope call("Rope", "", {x}, where);
  return call.Of(
      Einsum("..., s|..v.., 2*i<+p; s|i, p, q => ..., s|..v.., 2*i<+q", x,
             Turns(scope, positions, x, where)));
}

Tensor RopeAt(const ParamScope& scope, const Positions& positions,
              int32_t position, Tensor x, SourceLocation where) {
  CallScope call("RopeAt", "", {x}, where);
  return call.Of(Einsum("...|..v.., 2*i<+p; |i, p, q => ...|..v.., 2*i<+q", x,
                        Slice(Turns(scope, positions, x, where), position)));
}

}  // namespace ocannl::train
