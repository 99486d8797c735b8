// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

// The axes of an attribute or of input 1; none given are all.
absl::StatusOr<Numbers> ReducedAxes(const OpCall& call) {
  Numbers axes = call.Wholes("axes", {});
  if (call.Has(1)) {
    OCANNL_ASSIGN_OR_RETURN(axes, call.WholeElements(1));
  }
  const int rank = call[0].rank();
  if (axes.empty() && call.Whole("noop_with_empty_axes", 0) == 0) {
    axes = AxesFrom(0, rank);
  }
  return DistinctAxes(std::move(axes), rank);
}

// Without the given axes, which have one cell.
Value Without(const Value& a, const Numbers& axes) {
  Dims dims;
  for (int k = 0; k < a.rank(); ++k) {
    if (!absl::c_linear_search(axes, k)) dims.push_back(a.dim(k));
  }
  return Reshape(a, dims);
}

int64_t Cells(const Value& a, const Numbers& axes) {
  int64_t cells = 1;
  for (int64_t axis : axes) cells *= a.dim(axis);
  return cells;
}

Value Sum(const Value& a, const Numbers& axes) {
  return ReduceAxes(Op::kAdd, a, axes);
}

Value SumOfSquares(const Value& a, const Numbers& axes) {
  const Value wide = Wide(a);
  return Sum(wide * wide, axes);
}

Value Greatest(const Value& a, const Numbers& axes) {
  return ReduceAxes(Op::kMax, a, axes);
}

Value LogSumExp(const Value& a, const Numbers& axes) {
  // Infinities have no difference.
  const Value most = Greatest(a, axes);
  const double infinity = std::numeric_limits<double>::infinity();
  const Value greatest = Select(Equal(Abs(most), infinity), 0, most);
  return Log(Sum(Exp(a - greatest), axes)) + greatest;
}

using Reduction = Value (*)(const Value&, const Numbers&);

// `of_nothing`: whether the reduction of no cells is that of zeros, or has its
// own value.
OpRule ReduceRule(std::string name, Reduction reduction,
                  bool of_nothing = true) {
  auto rule = [=](const OpCall& call) -> absl::StatusOr<Outputs> {
    OCANNL_ASSIGN_OR_RETURN(Numbers axes, ReducedAxes(call));
    if (!of_nothing && Cells(call[0], axes) == 0) {
      return absl::UnimplementedError("no cells");
    }
    const Value reduced = reduction(call[0], axes);
    return call.Whole("keepdims", 1) != 0 ? reduced : Without(reduced, axes);
  };
  return {std::move(name), rule};
}

OpRule ArgRule(std::string name, bool greatest) {
  auto rule = [greatest](const OpCall& call) -> absl::StatusOr<Outputs> {
    const Value& x = call[0];
    const int axis = call.AxisOf(0, x.rank());
    const Value found =
        ArgExtreme(x, axis, greatest, call.Whole("select_last_index", 0) != 0);
    return call.Whole("keepdims", 1) != 0 ? found : Without(found, {axis});
  };
  return {std::move(name), rule};
}

absl::StatusOr<Outputs> CumSumRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(Numbers axes, call.WholeElements(1));
  const int axis = Axis(axes[0], call[0].rank());
  const bool backwards = call.Whole("reverse", 0) != 0;
  Value sums =
      CumulativeSum(backwards ? Reversed(call[0], axis) : call[0], axis);
  if (call.Whole("exclusive", 0) != 0) {
    sums = Pad(Pad(sums, axis, 0, -1), axis, 1, 0);
  }
  return backwards ? Reversed(sums, axis) : sums;
}

// A cell's place among the cells along the axis is how many come before it:
// greater ones, and equal ones further left.
absl::StatusOr<Outputs> TopKRule(const OpCall& call) {
  const Value& x = call[0];
  OCANNL_ASSIGN_OR_RETURN(Numbers count, call.WholeElements(1));
  const int axis = call.AxisOf(-1, x.rank());
  const int64_t size = x.dim(axis);
  Require(count[0] >= 0 && count[0] <= size, count[0], " of ", size, " cells");
  Dims own_dims = x.dims;
  own_dims.push_back(1);
  const Value at = Iota(call.graph(), size);
  Axes axes = AxisNames(x.rank());
  Axes others = axes;
  others[axis] = "0";
  others.push_back(axes[axis]);
  const Value own = Reshape(x, own_dims);
  const Value other = Reduce({}, Op::kAdd, {{x, axes}}, others);
  const Value further_left = Less(at, Along(at, axis, x.rank() + 1));
  const bool largest = call.Whole("largest", 1) != 0;
  const Value before = Or(largest ? Less(own, other) : Less(other, own),
                          And(Equal(own, other), further_left));
  const Value place = Reshape(
      ReduceAxes(Op::kAdd, Cast(before, DType::kI64), {x.rank()}), x.dims);
  Axes result = axes;
  result[axis] = "k";
  return Outputs{
      ScatterAdd({x, axes}, {place, axes}, result, "k", count[0]),
      ScatterAdd({at, {axes[axis]}}, {place, axes}, result, "k", count[0])};
}

}  // namespace

std::vector<OpRule> ReductionRules() {
  return {
      ReduceRule("ReduceSum", Sum),
      ReduceRule("ReduceMax", Greatest, /*of_nothing=*/false),
      ReduceRule(
          "ReduceMin",
          [](const Value& a, const Numbers& axes) {
            return ReduceAxes(Op::kMin, a, axes);
          },
          /*of_nothing=*/false),
      ReduceRule("ReduceProd",
                 [](const Value& a, const Numbers& axes) {
                   Value product = a;
                   for (int64_t axis : axes) {
                     product = Multiplied(product, static_cast<int>(axis));
                   }
                   return product;
                 }),
      ReduceRule("ReduceMean",
                 [](const Value& a, const Numbers& axes) {
                   return MeanAxes(a, axes);
                 }),
      ReduceRule("ReduceL1",
                 [](const Value& a, const Numbers& axes) {
                   return Sum(Abs(a), axes);
                 }),
      ReduceRule("ReduceL2",
                 [](const Value& a, const Numbers& axes) {
                   return Cast(Sqrt(SumOfSquares(a, axes)), a.dtype());
                 }),
      ReduceRule("ReduceSumSquare",
                 [](const Value& a, const Numbers& axes) {
                   return Cast(SumOfSquares(a, axes), a.dtype());
                 }),
      ReduceRule("ReduceLogSum",
                 [](const Value& a, const Numbers& axes) {
                   return Log(Sum(a, axes));
                 }),
      ReduceRule("ReduceLogSumExp", LogSumExp, /*of_nothing=*/false),
      ArgRule("ArgMax", true),
      ArgRule("ArgMin", false),
      {"CumSum", CumSumRule},
      {"TopK", TopKRule},
  };
}

}  // namespace ocannl::onnx
