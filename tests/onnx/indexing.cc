// SPDX-License-Identifier: Apache-2.0
#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "tests/onnx/rules.h"

namespace ocannl::onnx {
namespace {

using Wholes = std::vector<int64_t>;

// Ids that count from the end if negative, as ones that count from the start.
Value FromStart(const Value& ids, int64_t size) {
  const Value wide = Cast(ids, DType::kI64);
  return Select(Less(wide, 0), wide + static_cast<double>(size), wide);
}

absl::StatusOr<Outputs> GatherRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = Axis(call.Whole("axis", 0), x.rank());
  return GatherAxis(call.graph(), x, axis, FromStart(call[1], x.dims[axis]));
}

absl::StatusOr<Outputs> GatherElementsRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = Axis(call.Whole("axis", 0), x.rank());
  const Value chosen = OneHot(call.graph(), FromStart(call[1], x.dims[axis]),
                              x.rank(), x.dims[axis]);
  Value part = x;  // the cells that there are ids for
  for (int k = 0; k < x.rank(); ++k) {
    if (k != axis) part = Part(part, k, 0, call[1].dims[k]);
  }
  Axes from = AxisNames(x.rank());
  const Axes result = from;
  from[axis] = "at";
  Axes both = result;
  both.push_back("at");
  return Product({{part, from}, {Cast(chosen, x.dtype()), both}}, result);
}

// The ids of the last axis as one: a place in the product of the first axes of
// `dims`.
Value PlaceOf(const Value& ids, const Dims& dims, int64_t count) {
  Dims without_last(ids.dims.begin(), ids.dims.end() - 1);
  std::optional<Value> place;
  for (int k = 0; k < count; ++k) {
    const Value id = FromStart(
        Reshape(Part(ids, ids.rank() - 1, k, 1), without_last), dims[k]);
    place = place ? *place * static_cast<double>(dims[k]) + id : id;
  }
  return *place;
}

absl::StatusOr<Outputs> GatherNdRule(const OpCall& call) {
  const Value &x = call[0], &ids = call[1];
  const int batch = static_cast<int>(call.Whole("batch_dims", 0));
  const int count = static_cast<int>(ids.dims.back());
  const Dims picked(x.dims.begin() + batch, x.dims.begin() + batch + count);
  const int64_t cells = NumElements(picked);
  const int64_t batches = SizeOf(x.dims, 0, batch);
  const int64_t rest = SizeOf(x.dims, batch + count, x.rank());
  const Value table = Reshape(x, {batches, cells, rest});
  const int64_t places = SizeOf(ids.dims, batch, ids.rank() - 1);
  const Value place = Reshape(PlaceOf(ids, picked, count), {batches, places});
  const Value chosen = OneHot(call.graph(), place, 2, cells);
  const Value found = Product(
      {{table, {"b", "v", "r"}}, {Cast(chosen, x.dtype()), {"b", "p", "v"}}},
      {"b", "p", "r"});
  Dims dims(ids.dims.begin(), ids.dims.end() - 1);
  dims.insert(dims.end(), x.dims.begin() + batch + count, x.dims.end());
  return Reshape(found, dims);
}

// What comes to each cell of `x`, and whether anything does. `chosen` says of
// each update, along its last axis, where it goes.
absl::StatusOr<Value> Scattered(const OpCall& call, const Value& x,
                                const Term& updates, const Value& chosen,
                                const Axes& chosen_axes, const Axes& result) {
  const std::string how = call.Text("reduction", "none");
  const Value sums =
      Product({updates, {Cast(chosen, x.dtype()), chosen_axes}}, result);
  if (how == "add") return x + sums;
  if (how != "none") return absl::UnimplementedError(how);
  const Value hit = Reduce({}, Op::kMax, {{chosen, chosen_axes}}, result);
  return Select(hit, sums, x);
}

absl::StatusOr<Outputs> ScatterElementsRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = Axis(call.Whole("axis", 0), x.rank());
  Value ids = FromStart(call[1], x.dims[axis]) + 1.0;
  Value updates = call[2];
  for (int k = 0; k < x.rank(); ++k) {
    if (k == axis) continue;
    ids = Pad(ids, k, 0, x.dims[k] - ids.dims[k]);
    updates = Pad(updates, k, 0, x.dims[k] - updates.dims[k]);
  }
  // Beyond the given ids there are zeros, which mean no cell.
  const Value chosen = OneHot(call.graph(), ids - 1.0, x.rank(), x.dims[axis]);
  const Axes result = AxisNames(x.rank());
  Axes from = result;
  from[axis] = "from";
  Axes both = from;
  both.push_back(result[axis]);
  return Scattered(call, x, {updates, from}, chosen, both, result);
}

absl::StatusOr<Outputs> ScatterNdRule(const OpCall& call) {
  const Value &x = call[0], &ids = call[1];
  const int count = static_cast<int>(ids.dims.back());
  const Dims picked(x.dims.begin(), x.dims.begin() + count);
  const int64_t cells = NumElements(picked);
  const int64_t rest = SizeOf(x.dims, count, x.rank());
  const int64_t places = SizeOf(ids.dims, 0, ids.rank() - 1);
  const Value place = Reshape(PlaceOf(ids, picked, count), {places});
  const Value hits = OneHot(call.graph(), place, 1, cells);
  const Value chosen =
      Expand(Reshape(hits, {places, 1, cells}), {places, rest, cells});
  const Value updates = Reshape(call[2], {places, rest});
  if (call.Text("reduction", "none") == "mul") {
    const Value factors = Select(chosen, Reshape(updates, {places, rest, 1}),
                                 Filled(call.graph(), {}, 1, x.dtype()));
    const Value product = Reshape(Multiplied(factors, 0), {rest, cells});
    return x * Reshape(Transpose(product, {1, 0}), x.dims);
  }
  OCANNL_ASSIGN_OR_RETURN(
      Value scattered,
      Scattered(call, Reshape(x, {cells, rest}), {updates, {"p", "r"}}, chosen,
                {"p", "r", "v"}, {"v", "r"}));
  return Reshape(scattered, x.dims);
}

absl::StatusOr<Outputs> OneHotRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Wholes depth, call.WholeElements(1));
  const Value& ids = call[0];
  const Value& values = call[2];
  const int axis = Axis(call.Whole("axis", -1), ids.rank() + 1);
  const Value hot =
      OneHot(call.graph(), FromStart(ids, depth[0]), axis, depth[0]);
  const Value off = Reshape(Part(values, 0, 0, 1), {});
  const Value on = Reshape(Part(values, 0, 1, 1), {});
  return Select(hot, on, off);
}

absl::StatusOr<Outputs> CompressRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Wholes kept, call.WholeElements(1));
  Value x = call[0];
  int axis = 0;
  if (call.HasAttribute("axis")) {
    axis = Axis(call.Whole("axis", 0), x.rank());
  } else {
    x = Reshape(x, {NumElements(x.dims)});
  }
  Wholes cells;
  for (size_t k = 0; k < kept.size(); ++k) {
    if (kept[k] != 0) cells.push_back(static_cast<int64_t>(k));
  }
  return Take(call.graph(), x, axis, cells);
}

// The first cells of each sequence, as many as its length says, backwards.
absl::StatusOr<Outputs> ReverseSequenceRule(const OpCall& call) {
  const Value& x = call[0];
  const int time = static_cast<int>(call.Whole("time_axis", 0));
  const int batch = static_cast<int>(call.Whole("batch_axis", 1));
  const int64_t size = x.dims[time];
  const Value length = Reshape(call[1], {x.dims[batch], 1});
  const Value at = Iota(call.graph(), size);
  const Value from = Select(Less(at, length), length - 1.0 - at, at);
  const Value chosen = OneHot(call.graph(), from, 2, size);
  Axes axes = AxisNames(x.rank());
  Axes result = axes;
  result[time] = "t";
  return Product(
      {{x, axes}, {Cast(chosen, x.dtype()), {axes[batch], "t", axes[time]}}},
      result);
}

}  // namespace

std::vector<OpRule> IndexingRules() {
  return {{"Gather", GatherRule},
          {"GatherElements", GatherElementsRule},
          {"GatherND", GatherNdRule},
          {"Scatter", ScatterElementsRule},
          {"ScatterElements", ScatterElementsRule},
          {"ScatterND", ScatterNdRule},
          {"OneHot", OneHotRule},
          {"Compress", CompressRule},
          {"ReverseSequence", ReverseSequenceRule}};
}

}  // namespace ocannl::onnx
