// SPDX-License-Identifier: Apache-2.0
//
// Images of other sizes: along each axis, a matrix of how much each cell counts
// for each cell of the result, made of where that one lies.
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

constexpr char kCropAndResize[] = "tf_crop_and_resize";

// An axis of `from` cells becomes one of `to` cells; cell o of the result lies
// at step * o + start.
struct Resized {
  int64_t from, to;
  double step, start;
};

absl::Status Locate(const std::string& mode, double scale, Resized& axis) {
  const double from = static_cast<double>(axis.from);
  const double to = scale * from;  // not rounded
  axis.step = 1 / scale;
  if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && axis.to > 1)) {
    axis.start = 0.5 / scale - 0.5;
  } else if (mode == "tf_half_pixel_for_nn") {
    axis.start = 0.5 / scale;
  } else if (mode == "align_corners") {
    axis.step = axis.to > 1 ? (from - 1) / (to - 1) : 0;
  } else if (mode == "pytorch_half_pixel") {
    axis.step = 0;
  } else if (mode != "asymmetric") {
    return absl::UnimplementedError(mode);
  }
  return absl::OkStatus();
}

// From `begin` to `end` of the axis, each from 0 to 1.
void Crop(double begin, double end, Resized& axis) {
  const double last = static_cast<double>(axis.from - 1);
  axis.step =
      axis.to > 1 ? (end - begin) * last / static_cast<double>(axis.to - 1) : 0;
  axis.start = axis.to > 1 ? begin * last : (begin + end) / 2 * last;
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
  const Value at = Cast(Iota(graph, by.to), DType::kF64) * by.step + by.start;
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
  Value weights = Weight(call, Reshape(at, {by.to, 1}) - place);
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
  Dims along(x.rank(), 1);
  along[axis] = by.to;
  const Value inside = And(LessEqual(0, at), LessEqual(at, last));
  return Select(Reshape(inside, along), y,
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
  Value x = call[0];
  for (int k = 0; k < x.rank(); ++k) {
    Resized axis = {.from = x.dim(k), .to = 0, .step = 1, .start = 0};
    const double from = static_cast<double>(axis.from);
    const double scale = scales.empty() ? sizes[k] / from : scales[k];
    axis.to = static_cast<int64_t>(
        std::floor(scales.empty() ? sizes[k] : scale * from));
    if (mode == kCropAndResize) {
      Crop(region[k], region[k + x.rank()], axis);
    } else {
      OCANNL_RETURN_IF_ERROR(Locate(mode, scale, axis));
    }
    if (axis.to == axis.from && axis.step == 1 && axis.start == 0) continue;
    OCANNL_ASSIGN_OR_RETURN(x, ResizeAxis(call, x, k, axis));
  }
  return x;
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
