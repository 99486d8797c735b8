// SPDX-License-Identifier: Apache-2.0
#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

// Ids that count from the end if negative, as ones that count from the start.
Value FromStart(const Value& ids, int64_t size) {
  const Value wide = Cast(ids, DType::kI64);
  return Select(Less(wide, 0), wide + static_cast<double>(size), wide);
}

// Misfit: an id that is known at import is out of bounds, which the
// specification calls an error. `sizes` are those of the axes that the numbers
// of an id, one after the other, are for.
void CheckBounds(const Value& ids, const Dims& sizes) {
  if (!ids.is_constant() || sizes.empty()) return;
  for (int64_t k = 0; k < ids.known->size(); ++k) {
    const auto size = static_cast<double>(sizes[k % sizes.size()]);
    const double id = ids.known->AsDouble(k);
    Require(-size <= id && id < size, "the id ", id, " of an axis of ", size,
            " cells; give ", -size, " to ", size - 1);
  }
}

// The same ids from the start.
Value Inside(const Value& ids, int64_t size) {
  CheckBounds(ids, {size});
  return FromStart(ids, size);
}

absl::StatusOr<Outputs> GatherRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = call.AxisOf(0, x.rank());
  return GatherAxis(x, axis, Inside(call[1], x.dim(axis)));
}

absl::StatusOr<Outputs> GatherElementsRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = call.AxisOf(0, x.rank());
  Value part = x;  // the cells that there are ids for
  for (int k = 0; k < x.rank(); ++k) {
    if (k != axis) part = Part(part, k, 0, call[1].dim(k));
  }
  const Axes axes = AxisNames(x.rank());
  Axes from = axes;
  from[axis] = "at";
  return Gather({part, from}, {Inside(call[1], x.dim(axis)), axes}, axes);
}

// The ids of the last axis as one: a place in the product of the first axes of
// `dims`.
Value PlaceOf(const Value& ids, const Dims& dims, int64_t count) {
  Require(count > 0, "an id of no numbers");
  CheckBounds(ids, dims);
  const Dims without_last = ids.between(0, ids.rank() - 1);
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
  const int count = static_cast<int>(ids.dim(ids.rank() - 1));
  const Dims picked = x.between(batch, batch + count);
  const int64_t cells = NumElements(picked);
  const int64_t batches = SizeOf(x.dims, 0, batch);
  const int64_t rest = SizeOf(x.dims, batch + count, x.rank());
  const Value table = Reshape(x, {batches, cells, rest});
  const int64_t places = SizeOf(ids.dims, batch, ids.rank() - 1);
  const Value place = Reshape(PlaceOf(ids, picked, count), {batches, places});
  const Value found =
      Gather({table, {"b", "v", "r"}}, {place, {"b", "p"}}, {"b", "p", "r"});
  Dims dims = ids.between(0, ids.rank() - 1);
  const Dims behind = x.between(batch + count, x.rank());
  dims.insert(dims.end(), behind.begin(), behind.end());
  return Reshape(found, dims);
}

// `x` with the updates at their ids, or with those added to it. Its axis `at`
// is the one of the ids.
absl::StatusOr<Value> Scattered(const OpCall& call, const Term& x,
                                const Term& updates, const Term& ids,
                                const std::string& at, int64_t size) {
  const std::string how = call.Text("reduction", "none");
  const Value sums = ScatterAdd(updates, ids, x.axes, at, size);
  if (how == "add") return x.value + sums;
  if (how != "none") return absl::UnimplementedError(how);
  const Term ones = {Filled(call.graph(), updates.value.dims, 1, DType::kI32),
                     updates.axes};
  const Value hits = ScatterAdd(ones, ids, x.axes, at, size);
  return Select(Less(0, hits), sums, x.value);
}

absl::StatusOr<Outputs> ScatterElementsRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = call.AxisOf(0, x.rank());
  // Beyond the given ids there shall be -1, which means no cell.
  Value ids = Inside(call[1], x.dim(axis)) + 1.0;
  Value updates = call[2];
  for (int k = 0; k < x.rank(); ++k) {
    if (k == axis) continue;
    ids = Pad(ids, k, 0, x.dim(k) - ids.dim(k));
    updates = Pad(updates, k, 0, x.dim(k) - updates.dim(k));
  }
  const Axes result = AxisNames(x.rank());
  Axes from = result;
  from[axis] = "from";
  OCANNL_ASSIGN_OR_RETURN(
      Value scattered, Scattered(call, {x, result}, {updates, from},
                                 {ids - 1.0, from}, result[axis], x.dim(axis)));
  return scattered;
}

// The factors of each cell, one after the other.
Value Multiply(const Value& x, const Value& updates, const Value& place) {
  const int64_t places = updates.dim(0), rest = updates.dim(1);
  const int64_t cells = x.dim(0);
  const Value hot =
      Reshape(OneHot(place, 1, cells, DType::kI32), {places, cells, 1});
  const Value factors =
      Select(NotEqual(hot, 0), Reshape(updates, {places, 1, rest}), 1);
  return x * Reshape(Multiplied(factors, 0), x.dims);
}

absl::StatusOr<Outputs> ScatterNdRule(const OpCall& call) {
  const Value &x = call[0], &ids = call[1];
  const int count = static_cast<int>(ids.dim(ids.rank() - 1));
  const Dims picked = x.between(0, count);
  const int64_t cells = NumElements(picked);
  const int64_t rest = SizeOf(x.dims, count, x.rank());
  const int64_t places = SizeOf(ids.dims, 0, ids.rank() - 1);
  const Value place = Reshape(PlaceOf(ids, picked, count), {places});
  const Value updates = Reshape(call[2], {places, rest});
  const Value flat = Reshape(x, {cells, rest});
  if (call.Text("reduction", "none") == "mul") {
    return Reshape(Multiply(flat, updates, place), x.dims);
  }
  OCANNL_ASSIGN_OR_RETURN(
      Value scattered,
      Scattered(call, {flat, {"v", "r"}}, {updates, {"p", "r"}}, {place, {"p"}},
                "v", cells));
  return Reshape(scattered, x.dims);
}

absl::StatusOr<Outputs> OneHotRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Numbers depth, call.WholeElements(1));
  const Value& ids = call[0];
  const Value& values = call[2];
  const int axis = call.AxisOf(-1, ids.rank() + 1);
  const Value hot =
      OneHot(FromStart(ids, depth[0]), axis, depth[0], DType::kI32);
  const Value off = Reshape(Part(values, 0, 0, 1), {});
  const Value on = Reshape(Part(values, 0, 1, 1), {});
  return Select(NotEqual(hot, 0), on, off);
}

absl::StatusOr<Outputs> CompressRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Numbers kept, call.WholeElements(1));
  Value x = call[0];
  int axis = 0;
  if (call.HasAttribute("axis")) {
    axis = call.AxisOf(0, x.rank());
  } else {
    x = Reshape(x, {NumElements(x.dims)});
  }
  Numbers cells;
  for (size_t k = 0; k < kept.size(); ++k) {
    if (kept[k] != 0) cells.push_back(static_cast<int64_t>(k));
  }
  return Take(x, axis, cells);
}

// The first cells of each sequence, as many as its length says, backwards.
absl::StatusOr<Outputs> ReverseSequenceRule(const OpCall& call) {
  const Value& x = call[0];
  const int time = static_cast<int>(call.Whole("time_axis", 0));
  const int batch = static_cast<int>(call.Whole("batch_axis", 1));
  const int64_t size = x.dim(time);
  const Value length = Reshape(call[1], {x.dim(batch), 1});
  const Value at = Iota(call.graph(), size);
  const Value from = Select(Less(at, length), length - 1.0 - at, at);
  const Axes axes = AxisNames(x.rank());
  Axes table = axes;
  table[time] = "at";
  return Gather({x, table}, {from, {axes[batch], axes[time]}}, axes);
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
