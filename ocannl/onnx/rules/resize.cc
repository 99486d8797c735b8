// SPDX-License-Identifier: Apache-2.0
//
// Images of other sizes: along each axis, a matrix of how much each cell counts
// for each cell of the result, made of where that one lies.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

constexpr char kCropAndResize[] = "tf_crop_and_resize";

// Where the cells of the result lie on an axis of `from` cells.
struct Resized {
  int64_t from;
  std::vector<double> at;

  int64_t to() const { return static_cast<int64_t>(at.size()); }
  bool is_same() const {
    for (int64_t k = 0; k < to(); ++k) {
      if (at[k] != static_cast<double>(k)) return false;
    }
    return to() == from;
  }
};

// Where cell `cell` of `cells` lies, as the specification computes it: products
// of steps would be on the other side of a tie. Real is float for the nearest
// cell, because a scale such as 0.6 makes ties of f32 only.
template <class Real>
absl::StatusOr<double> Locate(const std::string& mode, Real cell, Real cells,
                              Real from, Real scale) {
  const Real to = scale * from;  // not rounded
  const Real half = Real(0.5);
  const Real half_pixel = (cell + half) / scale - half;
  if (mode == "half_pixel") return half_pixel;
  if (mode == "pytorch_half_pixel") return cells > 1 ? half_pixel : 0;
  if (mode == "half_pixel_symmetric") {
    return from / 2 * (1 - cells / to) + half_pixel;
  }
  if (mode == "tf_half_pixel_for_nn") return (cell + half) / scale;
  if (mode == "align_corners") {
    return cells > 1 ? cell * (from - 1) / (to - 1) : 0;
  }
  if (mode == "asymmetric") return cell / scale;
  return absl::UnimplementedError(mode);
}

// The same, from `begin` to `end` of the axis, each from 0 to 1.
double LocateInPart(double cell, double cells, double from, double begin,
                    double end) {
  if (cells <= 1) return (begin + end) / 2 * (from - 1);
  return begin * (from - 1) + cell * (end - begin) * (from - 1) / (cells - 1);
}

Value Nearest(const std::string& mode, const Value& at) {
  if (mode == "floor") return Floor(at);
  if (mode == "ceil") return Ceil(at);
  return mode == "round_prefer_ceil" ? Floor(at + 0.5) : Ceil(at - 0.5);
}

// How much cells at a distance count.
Value Weight(const OpCall& call, const Value& distance) {
  const Value t = Abs(distance);
  if (call.Text("mode", "") != "cubic") return Max(1.0 - t, 0);
  const double a = call.Number("cubic_coeff_a", -0.75);
  const Value near = ((a + 2) * t - (a + 3)) * t * t + 1.0;
  const Value far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return Select(Less(t, 1), near, Select(Less(t, 2), far, 0));
}

// `x` with `axis` resized. Beyond its ends its last cells go on.
absl::StatusOr<Value> ResizeAxis(const OpCall& call, const Value& x, int axis,
                                 const Resized& by) {
  const bool crops =
      call.Text("coordinate_transformation_mode", "") == kCropAndResize;
  Graph& graph = call.graph();
  const double last = static_cast<double>(by.from - 1);
  const Value at = Constant(graph, NdArray::Of<double>({by.to()}, by.at));
  if (call.Text("mode", "nearest") == "nearest") {
    if (crops) return absl::UnimplementedError("nearest cells of a part");
    const bool resizes = call.node.op == "Resize";
    const Value cell = Nearest(
        call.Text("nearest_mode", resizes ? "round_prefer_floor" : "floor"),
        at);
    return GatherAxis(x, axis, Cast(Min(Max(cell, 0), last), DType::kI64));
  }
  // A cubic reaches two cells further.
  Numbers cells;
  for (int64_t k = -2; k < by.from + 2; ++k) {
    cells.push_back(std::clamp<int64_t>(k, 0, by.from - 1));
  }
  const int64_t count = by.from + 4;
  const Value place = Cast(Iota(graph, count), DType::kF64) - 2.0;
  Value weights = Weight(call, Reshape(at, {by.to(), 1}) - place);
  if (call.Whole("exclude_outside", 0) != 0) {
    const Value inside = And(LessEqual(0, place), LessEqual(place, last));
    weights = Select(inside, weights, 0);
    weights = weights / ReduceAxes(Op::kAdd, weights, {1});
  }
  const Axes from = AxisNames(x.rank());
  Axes to = from;
  to[axis] = "to";
  Value y = Product({{Take(x, axis, cells), from},
                     {Cast(weights, x.dtype()), {"to", from[axis]}}},
                    to);
  if (!crops) return y;
  const Value inside = And(LessEqual(0, at), LessEqual(at, last));
  return Select(Along(inside, axis, x.rank()), y,
                call.Number("extrapolation_value", 0));
}

// The numbers of input `k`, if there are any.
absl::StatusOr<std::vector<double>> NumbersOf(const OpCall& call, size_t k) {
  std::vector<double> numbers;
  if (!call.Has(k)) return numbers;
  OCANNL_ASSIGN_OR_RETURN(NdArray array, call.Elements(k));
  for (int64_t i = 0; i < array.size(); ++i) {
    numbers.push_back(array.AsDouble(i));
  }
  return numbers;
}

// Of inputs `roi`, `scales` and `sizes`, in the order of Resize.
absl::StatusOr<Outputs> Resize(const OpCall& call, std::string mode,
                               size_t first) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<double> region, NumbersOf(call, 1));
  OCANNL_ASSIGN_OR_RETURN(std::vector<double> scales, NumbersOf(call, first));
  OCANNL_ASSIGN_OR_RETURN(std::vector<double> sizes,
                          NumbersOf(call, first + 1));
  const auto rank = static_cast<size_t>(call[0].rank());
  const std::vector<double>& given = scales.empty() ? sizes : scales;
  Require(given.size() == rank, given.size(), " scales or sizes for ", rank,
          " axes");
  const bool crops = mode == kCropAndResize;
  Require(!crops || region.size() == 2 * rank, "a part of ", region.size(),
          " numbers for ", rank, " axes");
  // Weights are no integers; only the result is cut to whole numbers.
  const DType dtype = call[0].dtype();
  const bool is_nearest = call.Text("mode", "nearest") == "nearest";
  const bool is_wide = !IsFloat(dtype) && !is_nearest;
  Value x = is_wide ? Cast(call[0], DType::kF32) : call[0];
  for (size_t k = 0; k < rank; ++k) {
    Resized axis = {.from = x.dim(static_cast<int64_t>(k)), .at = {}};
    const double from = static_cast<double>(axis.from);
    const double scale = scales.empty() ? given[k] / from : given[k];
    const double cells = std::floor(scales.empty() ? given[k] : scale * from);
    Require(scale > 0 && cells <= kMostConstantBytes / 8, "an axis of ", from,
            " cells with the scale ", scale);
    for (double cell = 0; cell < cells; ++cell) {
      if (crops) {
        axis.at.push_back(
            LocateInPart(cell, cells, from, region[k], region[k + rank]));
        continue;
      }
      OCANNL_ASSIGN_OR_RETURN(
          axis.at.emplace_back(),
          is_nearest ? Locate<float>(mode, cell, cells, from, scale)
                     : Locate<double>(mode, cell, cells, from, scale));
    }
    if (axis.is_same()) continue;
    OCANNL_ASSIGN_OR_RETURN(x, ResizeAxis(call, x, static_cast<int>(k), axis));
  }
  return Cast(x, dtype);
}

}  // namespace

std::vector<OpRule> ResizeRules() {
  return {{"Resize",
           [](const OpCall& call) {
             return Resize(
                 call,
                 call.Text("coordinate_transformation_mode", "half_pixel"), 2);
           }},
          {"Upsample",
           [](const OpCall& call) { return Resize(call, "asymmetric", 1); }}};
}

}  // namespace ocannl::onnx
