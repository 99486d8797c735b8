// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/functions.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/wide.h"
#include "ocannl/train/eager/axes.h"

namespace ocannl::train::fn {
namespace {

// `function` of groups along the last axis; a number is a group of one.
template <class Function>
Made OfLastAxis(Function function, const Operand& x, SourceLocation where) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x.tensor));
  const Operand group = x.dims.empty() ? ReshapeTo(x, {1}) : x;
  Axes names = AxisNames(group.dims.size());
  std::string spec = absl::StrCat(Row(names), " => ");
  names.back() = std::string(1, '0');
  absl::StrAppend(&spec, Row(names));
  const Tensor y = function(spec, group.tensor, where);
  return ReshapeTo({y, group.dims}, x.dims).tensor;
}

// The sizes of the axes but the first, of which there is one.
Dims Rest(const Operand& x) { return {x.dims.begin() + 1, x.dims.end()}; }

std::string RestRow(const Operand& x) {
  return Row(AxisNames(x.dims.empty() ? 0 : x.dims.size() - 1, "r"));
}

// The sum along an axis of `term`, which is x or its cells in another dtype.
Made SumAlong(const Operand& x, Tensor term, int axis) {
  if (axis < 0 || axis >= static_cast<int>(x.dims.size())) {
    return UserError("shape ", DimsText(x.dims), " has no axis ", axis);
  }
  const Axes names = AxisNames(x.dims.size());
  Axes rest = names;
  rest.erase(rest.begin() + axis);
  return ReduceTo(Op::kAdd, {term, names}, rest);
}

absl::Status CheckIndices(const Operand& x, const Operand& ids) {
  if (x.dims.empty()) return UserError("a number has no cells to index");
  const DType dtype = ids.tensor.node().dtype;
  if (IsInteger(dtype)) return absl::OkStatus();
  return UserError("operand 2 is of ", Name(dtype),
                   "; indices are integers, as TokenIds makes them");
}

absl::StatusOr<Operand> PartOfFirst(const Operand& x, int64_t start,
                                    int64_t size) {
  if (x.dims.empty() || start < 0 || size < 1 || size > x.dims[0] ||
      start > x.dims[0] - size) {
    return UserError(
        "shape ", DimsText(x.dims), " has no cells ", start, " to ",
        NumberText(static_cast<double>(start) + static_cast<double>(size) - 1),
        " of the first axis");
  }
  return PartOf(x, 0, start, size);
}

Made Product(const Operand& a, const Operand& b, size_t rank) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(a.tensor));
  OCANNL_RETURN_IF_ERROR(CheckRank(a, 1, rank));
  OCANNL_RETURN_IF_ERROR(CheckRank(b, 2, rank));
  if (a.dims[rank - 1] != b.dims[rank - 2] ||
      (rank == 3 && a.dims[0] != b.dims[0])) {
    return UserError("shapes ", DimsText(a.dims), " and ", DimsText(b.dims),
                     " do not multiply");
  }
  Axes from = {"i", "k"}, by = {"k", "j"}, to = {"i", "j"};
  if (rank == 3) {
    for (Axes* axes : {&from, &by, &to}) axes->insert(axes->begin(), "b");
  }
  return SumOfProducts({{a.tensor, from}, {b.tensor, by}}, to);
}

}  // namespace

absl::Status MakeAlike(Shaped& a, Shaped& b) {
  if (a.shape == b.shape) return absl::OkStatus();
  const Operand x = Flat(a), y = Flat(b);
  if (x.dims != y.dims) {
    return UserError("shapes ", DimsText(x.dims), " and ", DimsText(y.dims),
                     " differ; BroadcastTo repeats one");
  }
  a.tensor = x.tensor;
  b.tensor = y.tensor;
  return absl::OkStatus();
}

absl::Status CheckFloats(Tensor x) {
  const DType dtype = x.node().dtype;
  if (IsFloat(ComputeDType(dtype))) return absl::OkStatus();
  return UserError("operand 1 is of ", Name(dtype), "; it must be of floats");
}

Made MseLoss(Shaped a, Shaped b, SourceLocation where) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(a.tensor));
  OCANNL_RETURN_IF_ERROR(MakeAlike(a, b));
  return MeanSquaredError(a.tensor, b.tensor, where);
}

Made Scale(Tensor x, double factor) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x));
  return Mul(x, factor);
}

Made Shift(Tensor x, double summand) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x));
  return x + summand;
}

Made Clamp(Tensor x, double low, double high) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x));
  if (!(low <= high)) {
    return UserError("the bounds ", NumberText(low), " and ", NumberText(high),
                     " are not in order");
  }
  const Tensor clamped = Min(high, Max(low, x));
  return Where(And(Less(low, x), Less(x, high)), x, StopGradient(clamped));
}

Made Sqrt(Tensor x) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x));
  // Its slope at 0 is infinite, and times 0 NaN: the root of what is not above
  // 0 is a constant.
  const Tensor above = Less(0, x);
  return Where(above, ocannl::Sqrt(Where(above, x, 1)),
               StopGradient(ocannl::Sqrt(x)));
}

Made SafeLog(Tensor x, double epsilon) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x));
  return InDType(ocannl::Log(ocannl::Softplus(Widened(x)) + epsilon),
                 x.node().dtype);
}

Made TokenIds(Tensor x) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x));
  return Convert(x, DType::kI32);
}

Tensor Abs(Tensor x) { return ocannl::Abs(x); }

Tensor Detach(Tensor x) { return StopGradient(x); }

Made Softmax(const Operand& x, SourceLocation where) {
  return OfLastAxis(train::Softmax, x, where);
}

Made LogSoftmax(const Operand& x, SourceLocation where) {
  return OfLastAxis(train::LogSoftmax, x, where);
}

Made AsBatch(const Shaped& x, int axes) {
  const Dims dims = x.shape.dims();
  if (axes < 0 || axes > static_cast<int>(dims.size())) {
    return UserError("shape ", DimsText(dims), " has no ", axes,
                     " axes to make batch axes of");
  }
  Shape to;
  to[RowKind::kBatch] = {dims.begin(), dims.begin() + axes};
  to[RowKind::kOutput] = {dims.begin() + axes, dims.end()};
  return to == x.shape ? x.tensor : ocannl::Reshape(x.tensor, to);
}

Made BroadcastTo(const Operand& x, const Dims& dims) {
  OCANNL_ASSIGN_OR_RETURN(const Operand y, train::BroadcastTo(x, dims));
  return y.tensor;
}

Made Reshape(const Operand& x, const Dims& dims) {
  bool fits = NumElements(dims) == NumElements(x.dims);
  for (int64_t size : dims) fits = fits && size > 0;
  if (fits) return ReshapeTo(x, dims).tensor;
  return UserError("shape ", DimsText(x.dims), " does not have the cells of ",
                   DimsText(dims));
}

Made Permute(const Operand& x, const Dims& order) {
  std::vector<size_t> axes;
  std::vector<bool> seen(x.dims.size());
  bool fits = order.size() == x.dims.size();
  for (int64_t axis : order) {
    fits = fits && axis >= 0 && axis < static_cast<int64_t>(seen.size()) &&
           !seen[axis];
    if (!fits) break;
    seen[axis] = true;
    axes.push_back(axis);
  }
  if (fits) return PermuteAxes(x, axes).tensor;
  return UserError(DimsText(order), " is no order of the axes of shape ",
                   DimsText(x.dims));
}

Made Transpose2d(const Operand& x) { return Permute(x, {1, 0}); }

Tensor Sum(const Operand& x) {
  return ReduceTo(Op::kAdd, {x.tensor, AxisNames(x.dims.size())}, {});
}

Made ReduceSum(const Operand& x, int axis) {
  return SumAlong(x, x.tensor, axis);
}

Made ReduceMean(const Operand& x, int axis) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x.tensor));
  OCANNL_ASSIGN_OR_RETURN(const Tensor sum,
                          SumAlong(x, Widened(x.tensor), axis));
  return InDType(sum / x.dims[axis], x.tensor.node().dtype);
}

Made Gather(const Operand& x, const Operand& ids, SourceLocation where) {
  OCANNL_RETURN_IF_ERROR(CheckIndices(x, ids));
  const std::string at = Row(AxisNames(ids.dims.size(), "i"));
  const std::string rest = RestRow(x);
  return ocannl::Gather(absl::StrCat("v, ", rest, "; ", at, " => ", at, rest),
                        x.tensor, ids.tensor, where);
}

Made ScatterAdd(const Operand& x, const Operand& ids, const Operand& values,
                SourceLocation where) {
  OCANNL_RETURN_IF_ERROR(CheckIndices(x, ids));
  const Dims rest = Rest(x);
  Dims wanted = ids.dims;
  wanted.insert(wanted.end(), rest.begin(), rest.end());
  if (values.dims != wanted) {
    return UserError("what is added has shape ", DimsText(values.dims),
                     "; it must have ", DimsText(wanted));
  }
  const Operand index = ReshapeTo(ids, {NumElements(ids.dims)});
  Dims rows = {index.dims[0]};
  rows.insert(rows.end(), rest.begin(), rest.end());
  const std::string row = RestRow(x);
  return x.tensor +
         ocannl::ScatterAdd(absl::StrCat("b, ", row, "; b, => v, ", row),
                            ReshapeTo(values, rows).tensor, index.tensor,
                            x.dims[0], where);
}

Made Select(const Operand& x, Tensor index) {
  const auto* symbol = std::get_if<SymbolSource>(&index.node().source);
  if (symbol == nullptr) {
    return UserError("operand 2 is no Index of the step's inputs; ",
                     "Gather takes integers");
  }
  const int64_t range = *index.graph->statics()[symbol->static_index].range;
  if (x.dims.empty() || x.dims[0] != range) {
    return UserError("the index has ", range, " values, and shape ",
                     DimsText(x.dims), " has no first axis of that size");
  }
  const std::string rest = RestRow(x);
  return ocannl::Slice(
      Einsum1(absl::StrCat("i, ", rest, " => i, |", rest), x.tensor),
      symbol->static_index);
}

Made Cell(const Operand& x, int64_t index) {
  OCANNL_ASSIGN_OR_RETURN(const Operand part, PartOfFirst(x, index, 1));
  return ReshapeTo(part, Rest(x)).tensor;
}

Made Slice(const Operand& x, int64_t start, int64_t size) {
  OCANNL_ASSIGN_OR_RETURN(const Operand part, PartOfFirst(x, start, size));
  return part.tensor;
}

Made Concat(absl::Span<const Operand> parts) {
  if (parts.empty()) return UserError("there is nothing to concatenate");
  const Dims& dims = parts[0].dims;
  std::vector<std::string> rows;
  std::vector<Arg> args;
  std::string joined;
  const std::string rest = RestRow(parts[0]);
  for (size_t k = 0; k < parts.size(); ++k) {
    const Operand& part = parts[k];
    if (part.dims.empty() || dims.empty() || Rest(part) != Rest(parts[0])) {
      return UserError("shapes ", DimsText(dims), " and ", DimsText(part.dims),
                       " differ in more than the first axis, or have none");
    }
    const std::string name = absl::StrCat("p", k);
    rows.push_back(absl::StrCat(name, ", ", rest));
    absl::StrAppend(&joined, k > 0 ? "^" : "", name);
    args.push_back(part.tensor);
  }
  if (parts.size() == 1) return parts[0].tensor;
  return ocannl::Concat(
      absl::StrCat(absl::StrJoin(rows, "; "), " => ", joined, ", ", rest),
      args);
}

Made Matmul(const Operand& a, const Operand& b) { return Product(a, b, 2); }

Made Bmm(const Operand& a, const Operand& b) { return Product(a, b, 3); }

Made RandUniform(Graph& graph, StepIndex step, const Dims& dims) {
  for (int64_t size : dims) {
    if (size < 1) return UserError("shape ", DimsText(dims), " has no cells");
  }
  const Tensor drawn =
      Uniform(graph, {.counter = EmbedSymbol(graph, step.index)});
  TensorNode sized = drawn.node();
  Shape shape;
  shape[RowKind::kOutput] = dims;
  sized.spec.Mutable().rows = SpecOf(shape).rows;
  return Tensor{&graph, graph.Add(std::move(sized))};
}

Made BernoulliMask(Graph& graph, StepIndex step, const Operand& keep,
                   const Dims& dims) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(keep.tensor));
  OCANNL_ASSIGN_OR_RETURN(const Tensor uniform, RandUniform(graph, step, dims));
  OCANNL_RETURN_IF_ERROR(CheckRank(keep, 1, 0));
  OCANNL_ASSIGN_OR_RETURN(const Operand wide, train::BroadcastTo(keep, dims));
  return Where(Less(uniform, StopGradient(wide.tensor)), Number(graph, 1), 0);
}

}  // namespace ocannl::train::fn
