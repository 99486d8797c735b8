// SPDX-License-Identifier: Apache-2.0
//
// Most are reductions of select(condition, term, neutral), where the condition
// compares an index with the cells of a range: a reduction skips what it is not
// about, infinities and NaNs included. The code of gathers and scatters goes to
// the cells by index instead (core/assign/gather.h).
#include "ocannl/core/tensor/indexing.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/tensor/axis_spec.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

// An error node, whose dtype means nothing, tells of its own error.
absl::Status CheckInteger(Tensor ids) {
  if (IsInteger(ids.node().dtype) ||
      std::holds_alternative<ErrorSource>(ids.node().source)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "indices are integers, not ", Name(ids.node().dtype),
      "; convert them: ", ConversionText(ids.node(), DType::kI32)));
}

// The array whose cells `ids` are, or a slice or conversion of it; null if the
// host does not have it.
const NdArray* HostValues(Tensor ids) {
  const TensorSource& source = ids.node().source;
  if (const auto* data = std::get_if<DataSource>(&source)) {
    return data->data.get();
  }
  const auto* compute = std::get_if<ComputeSource>(&source);
  if (std::holds_alternative<SliceSource>(source) ||
      (compute != nullptr && compute->op == Op::kConvert)) {
    return HostValues({ids.graph, OperandsOf(source)[0]});
  }
  return nullptr;
}

// Error: ids of the host that count the classes from 1. The last class would
// have no cell. Other ids without a cell may mark what has no class.
absl::Status CheckFromZero(Tensor ids, int64_t classes) {
  const NdArray* values = HostValues(ids);
  if (values == nullptr || values->size() == 0) return absl::OkStatus();
  double least = values->AsDouble(0);
  double most = least;
  for (int64_t i = 1; i < values->size(); ++i) {
    least = std::min(least, values->AsDouble(i));
    most = std::max(most, values->AsDouble(i));
  }
  if (least < 1 || most != static_cast<double>(classes)) {
    return absl::OkStatus();
  }
  return UserError("the ids are ", least, " to ", most, ", and ", classes,
                   " classes have the ids 0 to ", classes - 1,
                   "; subtract 1 from the ids, or give it ", classes + 1,
                   " classes");
}

// Of the rows of `slot` and one output axis more, whether its cell is the id.
// The axis has as many cells as its use demands if `classes` is 0.
Tensor IsIndex(const EinsumSlot& slot, Tensor ids, int64_t classes,
               SourceLocation where) {
  // As wide as any index, so that nothing wraps around.
  Tensor wide = Convert(Arg(ids, where), DType::kI64);
  Tensor spread =
      Einsum1(SpecText({slot}, Behind(slot, FirstCell())), Arg(wide, where));
  Tensor range = Range(*ids.graph, classes, DType::kI64, where);
  return Equal(Arg(spread, where), Arg(range, where));
}

// accum of `a` where `condition` holds, else of `otherwise`.
Tensor ReduceWhere(Op accum, std::vector<EinsumSlot> operands,
                   const EinsumSlot& result, Tensor condition, Tensor a,
                   double otherwise, SourceLocation where) {
  operands.push_back(Behind({}, FirstCell()));
  return Reduce(Op::kSelect, accum, SpecText(std::move(operands), result),
                {Arg(condition, where), Arg(a, where), Arg(otherwise, where)});
}

// The one plain axis that `slot` has and `others` have not.
absl::StatusOr<std::string> OwnAxis(const EinsumSlot& slot,
                                    const std::vector<EinsumSlot>& others,
                                    absl::string_view place) {
  absl::flat_hash_map<std::string, int> counts;
  for (const EinsumSlot& other : others) {
    ForEachAxis(other, [&](EinsumAxis axis) {
      for (std::string* name : axis.Names()) ++counts[*name];
    });
  }
  std::vector<std::string> own;
  ForEachAxis(slot, [&](const EinsumAxis& axis) {
    if (axis.is_plain() && axis.name != "_" && ++counts[axis.name] == 1) {
      own.push_back(axis.name);
    }
  });
  if (own.size() == 1) return own[0];
  return absl::InvalidArgumentError(absl::StrCat(
      own.empty() ? "no axis is" : "several axes are", " in the spec of ",
      place, " only, where one is the indexed one"));
}

Tensor ArgExtreme(absl::string_view function, Op accum, absl::string_view axis,
                  Tensor a, SourceLocation where) {
  Graph& graph = *a.graph;
  std::string text = CallText(function, axis, {&a.node()});
  return Composed(graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    OCANNL_ASSIGN_OR_RETURN(AxisSpec along, ParseAxisSpec(axis));
    Tensor extreme = Reduce(std::nullopt, accum,
                            SpecText({along.slot}, along.With({FirstCell()})),
                            {Arg(a, where)});
    Tensor is_extreme = Equal(Arg(a, where), Arg(extreme, where));
    if (IsFloat(a.node().dtype)) {
      // Where there is a NaN, it is the extreme, which equals nothing.
      Tensor is_nan = NotEqual(Arg(a, where), Arg(a, where));
      is_extreme = Or(Arg(is_extreme, where), Arg(is_nan, where));
    }
    Tensor range = Range(graph, 0, DType::kI32, where);
    return ReduceWhere(Op::kMin,
                       {along.slot, Behind({}, PlainAxis(along.name))},
                       along.With({}), is_extreme, range,
                       std::numeric_limits<int32_t>::max(), where);
  });
}

}  // namespace

Tensor OneHot(Tensor ids, int64_t classes, DType dtype, SourceLocation where) {
  std::string text =
      CallText("one_hot", "", {&ids.node()}, absl::StrCat(", ", classes));
  return Composed(*ids.graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    OCANNL_RETURN_IF_ERROR(CheckInteger(ids));
    if (classes < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(classes, " classes are too few; give it 1 or more"));
    }
    OCANNL_RETURN_IF_ERROR(CheckFromZero(ids, classes));
    OCANNL_ASSIGN_OR_RETURN(EinsumSpec any, ParseEinsum("...|...->... => ", 1));
    Tensor hot = IsIndex(any.operands[0], ids, classes, where);
    return Convert(Arg(hot, where), dtype);
  });
}

Tensor Gather(absl::string_view spec, Tensor table, Tensor ids,
              SourceLocation where) {
  std::string text = CallText("gather", spec, {&table.node(), &ids.node()});
  return Composed(*ids.graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    OCANNL_RETURN_IF_ERROR(CheckInteger(ids));
    OCANNL_ASSIGN_OR_RETURN(EinsumSpec parsed, ParseEinsum(spec, 2));
    const auto& slots = parsed.operands;
    OCANNL_ASSIGN_OR_RETURN(
        std::string axis,
        OwnAxis(slots[0], {slots[1], parsed.result}, "the first operand"));
    Tensor sums = ReduceWhere(
        Op::kAdd, {Behind(slots[1], PlainAxis(axis)), slots[0]}, parsed.result,
        IsIndex(slots[1], ids, 0, where), table, 0, where);
    ids.graph->SetGather(sums.id, ids.id, /*scatters=*/false);
    return sums;
  });
}

Tensor ScatterAdd(absl::string_view spec, Tensor values, Tensor ids,
                  int64_t size, SourceLocation where) {
  std::string text =
      CallText("scatter_add", spec, {&values.node(), &ids.node()},
               absl::StrCat(", ", size));
  return Composed(*ids.graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    OCANNL_RETURN_IF_ERROR(CheckInteger(ids));
    OCANNL_ASSIGN_OR_RETURN(EinsumSpec parsed, ParseEinsum(spec, 2));
    const auto& slots = parsed.operands;
    OCANNL_ASSIGN_OR_RETURN(std::string axis,
                            OwnAxis(parsed.result, slots, "the result"));
    Tensor sums = ReduceWhere(
        Op::kAdd, {Behind(slots[1], PlainAxis(axis)), slots[0]}, parsed.result,
        IsIndex(slots[1], ids, 0, where), values, 0, where);
    OCANNL_RETURN_IF_ERROR(SetDim(sums, axis, size));
    ids.graph->SetGather(sums.id, ids.id, /*scatters=*/true);
    return sums;
  });
}

Tensor ArgMax(absl::string_view axis, Tensor a, SourceLocation where) {
  return ArgExtreme("argmax", Op::kMax, axis, a, where);
}

Tensor ArgMin(absl::string_view axis, Tensor a, SourceLocation where) {
  return ArgExtreme("argmin", Op::kMin, axis, a, where);
}

Tensor CumulativeSum(absl::string_view axis, Tensor a, SourceLocation where) {
  Graph& graph = *a.graph;
  std::string text = CallText("cumulative_sum", axis, {&a.node()});
  return Composed(graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    OCANNL_ASSIGN_OR_RETURN(AxisSpec along, ParseAxisSpec(axis));
    Tensor sums = Einsum1(SpecText({along.slot}, along.slot), Arg(a, where));
    graph.SetScan(sums.id, along.name);
    return sums;
  });
}

}  // namespace ocannl
