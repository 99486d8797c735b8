// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

// The whole numbers of input `k`, or of the attribute in older versions; else
// nothing.
absl::StatusOr<std::optional<Numbers>> Given(const OpCall& call, size_t k,
                                             const std::string& name) {
  if (call.HasAttribute(name)) return call.Wholes(name, {});
  if (!call.Has(k)) return std::nullopt;
  return call.WholeElements(k);
}

absl::StatusOr<Outputs> ReshapeRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Dims dims, call.WholeElements(1));
  const Dims& from = call[0].dims;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] == 0 && call.Whole("allowzero", 0) == 0) {
      dims[k] = call[0].dim(static_cast<int64_t>(k));
    }
  }
  auto open = absl::c_find(dims, -1);
  if (open != dims.end()) {
    *open = 1;
    const absl::StatusOr<int64_t> others = ByteSize(DType::kU8, dims);
    Require(others.ok() && *others > 0, "no dim for -1");
    *open = NumElements(from) / *others;
  }
  return Reshape(call[0], dims);
}

absl::StatusOr<Outputs> FlattenRule(const OpCall& call) {
  const Value& x = call[0];
  int axis = static_cast<int>(call.Whole("axis", 1));
  if (axis < 0) axis += x.rank();
  return Reshape(x, {SizeOf(x.dims, 0, axis), SizeOf(x.dims, axis, x.rank())});
}

absl::StatusOr<Outputs> SqueezeRule(const OpCall& call) {
  const Value& x = call[0];
  OCANNL_ASSIGN_OR_RETURN(auto axes, Given(call, 1, "axes"));
  Dims dims;
  for (int k = 0; k < x.rank(); ++k) {
    const bool gone = axes ? absl::c_any_of(*axes,
                                            [&](int64_t axis) {
                                              return Axis(axis, x.rank()) == k;
                                            })
                           : x.dim(k) == 1;
    if (!gone) dims.push_back(x.dim(k));
  }
  return Reshape(x, dims);
}

absl::StatusOr<Outputs> UnsqueezeRule(const OpCall& call) {
  const Value& x = call[0];
  OCANNL_ASSIGN_OR_RETURN(auto axes, Given(call, 1, "axes"));
  Require(axes.has_value(), "it has no axes");
  const int rank = x.rank() + static_cast<int>(axes->size());
  axes = DistinctAxes(*axes, rank);
  absl::c_sort(*axes);
  Dims dims = x.dims;
  for (int64_t axis : *axes) dims.insert(dims.begin() + axis, 1);
  return Reshape(x, dims);
}

absl::StatusOr<Outputs> TransposeRule(const OpCall& call) {
  Numbers reversed(call[0].rank());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return Transpose(call[0], call.Wholes("perm", reversed));
}

absl::StatusOr<Outputs> ExpandRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Dims dims, call.WholeElements(1));
  return Expand(call[0], BroadcastDims(std::move(dims), call[0].dims));
}

absl::StatusOr<Outputs> TileRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Numbers repeats, call.WholeElements(1));
  const Value& x = call[0];
  Dims apart, repeated, joined;
  for (int k = 0; k < x.rank(); ++k) {
    const int64_t most = kMostBytes / std::max<int64_t>(1, x.dim(k));
    Require(repeats[k] >= 0 && repeats[k] <= most, repeats[k], " times ",
            x.dim(k), " cells");
    apart.insert(apart.end(), {1, x.dim(k)});
    repeated.insert(repeated.end(), {repeats[k], x.dim(k)});
    joined.push_back(repeats[k] * x.dim(k));
  }
  return Reshape(Expand(Reshape(x, apart), repeated), joined);
}

absl::StatusOr<Outputs> ConcatRule(const OpCall& call) {
  std::vector<Value> parts;
  for (size_t k = 0; k < call.inputs.size(); ++k) parts.push_back(call[k]);
  return Concatenate(parts, call.AxisOf(0, parts[0].rank()));
}

absl::StatusOr<Outputs> SplitRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = call.AxisOf(0, x.rank());
  OCANNL_ASSIGN_OR_RETURN(auto sizes, Given(call, 1, "split"));
  if (!sizes) {
    // Equal parts; the last one is smaller if they do not divide the axis.
    const auto count = static_cast<int64_t>(call.node.outputs.size());
    const int64_t size = x.dim(axis);
    Require(count > 0, "no outputs");
    const int64_t part = (size + count - 1) / count;
    Require(call.Whole("num_outputs", count) == count, "num_outputs is not ",
            count, ", the number of outputs");
    Require((count - 1) * part <= size, "no ", count, " parts of ", size,
            " cells");
    sizes = Numbers(count, part);
    sizes->back() = size - (count - 1) * part;
  }
  Outputs outputs;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    outputs.push_back(Part(x, axis, start, size));
    start += size;
  }
  Require(start == x.dim(axis), "parts of ", start, " cells of an axis of ",
          x.dim(axis));
  return outputs;
}

// Cells start, start + step, ... of an axis, `count` of them; step > 0.
Value EveryNth(const Value& x, int axis, int64_t start, int64_t step,
               int64_t count) {
  const int64_t behind = start + count * step - x.dim(axis);
  const Value part = Pad(x, axis, -start, behind);
  if (step == 1) return part;
  Axes axes = AxisNames(x.rank());
  const Axes result = axes;
  axes[axis] = absl::StrCat(step, "*", result[axis]);
  return Reduce({}, Op::kAdd, {{part, axes}}, result, {{result[axis], count}});
}

// One axis of a Slice, as NumPy has it.
Value Sliced(const Value& x, int axis, int64_t start, int64_t end,
             int64_t step) {
  const int64_t size = x.dim(axis);
  Require(step != 0, "a step of 0");
  step = std::clamp(step, -size - 1, size + 1);
  auto place = [&](int64_t at) {
    if (at < 0) at += size;
    return step > 0 ? std::clamp<int64_t>(at, 0, size)
                    : std::clamp<int64_t>(at, -1, size - 1);
  };
  const int64_t first = place(start);
  // Far below 0 means in front of cell 0.
  const int64_t last = end < -size ? (step > 0 ? 0 : -1) : place(end);
  const int64_t count =
      std::max<int64_t>(0, (last - first + step - (step > 0 ? 1 : -1)) / step);
  if (step > 0) return EveryNth(x, axis, first, step, count);
  return TakeEvery(x, axis, first, step, count);
}

absl::StatusOr<Outputs> SliceRule(const OpCall& call) {
  Value x = call[0];
  OCANNL_ASSIGN_OR_RETURN(auto starts, Given(call, 1, "starts"));
  OCANNL_ASSIGN_OR_RETURN(auto ends, Given(call, 2, "ends"));
  OCANNL_ASSIGN_OR_RETURN(auto axes, Given(call, 3, "axes"));
  OCANNL_ASSIGN_OR_RETURN(auto steps, Given(call, 4, "steps"));
  Require(starts.has_value() && ends.has_value(), "it has no starts or ends");
  for (size_t k = 0; k < starts->size(); ++k) {
    const int axis = Axis(axes ? (*axes)[k] : static_cast<int>(k), x.rank());
    x = Sliced(x, axis, (*starts)[k], (*ends)[k], steps ? (*steps)[k] : 1);
  }
  return x;
}

// Which cell of an axis of `size` cells stands at `at` of the padded one. Both
// reflections and copies repeat without end.
int64_t SourceOf(int64_t at, int64_t size, const std::string& mode) {
  if (mode == "edge" || size == 1) return std::clamp<int64_t>(at, 0, size - 1);
  const int64_t period = mode == "wrap" ? size : 2 * (size - 1);
  at = (at % period + period) % period;
  return at < size ? at : period - at;
}

absl::StatusOr<Outputs> PadRule(const OpCall& call) {
  Value x = call[0];
  OCANNL_ASSIGN_OR_RETURN(auto pads, Given(call, 1, "pads"));
  const std::string mode = call.Text("mode", "constant");
  Require(pads.has_value(), "it has no pads");
  Numbers axes = AxesFrom(0, x.rank());
  if (call.Has(3)) {
    OCANNL_ASSIGN_OR_RETURN(axes, call.WholeElements(3));
  }
  const bool has_value = call.HasAttribute("value") || call.Has(2);
  std::optional<Value> inside;  // where `x` is not the given value
  if (mode == "constant" && has_value) {
    inside = Filled(call.graph(), x.dims, 1, DType::kBool);
  }
  for (size_t k = 0; k < axes.size(); ++k) {
    const int axis = Axis(axes[k], x.rank());
    const int64_t before = (*pads)[k], behind = (*pads)[k + axes.size()];
    Require(std::max(std::abs(before), std::abs(behind)) < (1 << 28),
            "pads of ", before, " and ", behind);
    if (mode == "constant") {
      x = Pad(x, axis, before, behind);
      if (inside) inside = Pad(*inside, axis, before, behind);
      continue;
    }
    const int64_t size = x.dim(axis);
    Require(size > 0 && size + before + behind <= kMostConstantBytes / 8,
            "pads of ", before, " and ", behind, " around ", size, " cells");
    Numbers cells;
    for (int64_t at = -before; at < size + behind; ++at) {
      cells.push_back(SourceOf(at, size, mode));
    }
    x = Take(x, axis, cells);
  }
  if (!inside) return x;
  const bool is_attribute = call.HasAttribute("value");
  return Select(*inside, x,
                is_attribute ? Value(call.Number("value", 0)) : call[2]);
}

absl::StatusOr<Outputs> DepthToSpaceRule(const OpCall& call) {
  const Value& x = call[0];
  const int64_t b = call.Whole("blocksize", 1);
  Require(b > 0 && b < (1 << 20) && x.rank() == 4, "blocks of ", b, " of ",
          x.rank(), " axes");
  const int64_t c = x.dim(1) / (b * b), h = x.dim(2), w = x.dim(3);
  const Value apart =
      call.Text("mode", "DCR") == "DCR"
          ? Transpose(Reshape(x, {x.dim(0), b, b, c, h, w}), {0, 3, 4, 1, 5, 2})
          : Transpose(Reshape(x, {x.dim(0), c, b, b, h, w}),
                      {0, 1, 4, 2, 5, 3});
  return Reshape(apart, {x.dim(0), c, h * b, w * b});
}

absl::StatusOr<Outputs> SpaceToDepthRule(const OpCall& call) {
  const Value& x = call[0];
  const int64_t b = call.Whole("blocksize", 1);
  Require(b > 0 && b < (1 << 20) && x.rank() == 4, "blocks of ", b, " of ",
          x.rank(), " axes");
  const int64_t c = x.dim(1), h = x.dim(2) / b, w = x.dim(3) / b;
  const Value apart =
      Transpose(Reshape(x, {x.dim(0), c, h, b, w, b}), {0, 3, 5, 1, 2, 4});
  return Reshape(apart, {x.dim(0), c * b * b, h, w});
}

}  // namespace

std::vector<OpRule> MovementRules() {
  return {{"Identity", [](const OpCall& call) { return call[0]; }},
          {"Reshape", ReshapeRule},
          {"Flatten", FlattenRule},
          {"Squeeze", SqueezeRule},
          {"Unsqueeze", UnsqueezeRule},
          {"Transpose", TransposeRule},
          {"Expand", ExpandRule},
          {"Tile", TileRule},
          {"Concat", ConcatRule},
          {"Split", SplitRule},
          {"Slice", SliceRule},
          {"Pad", PadRule},
          {"DepthToSpace", DepthToSpaceRule},
          {"SpaceToDepth", SpaceToDepthRule}};
}

}  // namespace ocannl::onnx
