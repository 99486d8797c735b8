// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/trainer/primitives.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/wide.h"
#include "ocannl/train/trainer/axes.h"
#include "ocannl/train/trainer/images.h"
#include "ocannl/train/trainer/layers.h"

namespace ocannl::train {
namespace {

// Others are for numbers of any dtype.
bool NeedsFloats(Primitive op) {
  switch (op) {
    case Primitive::kAdd:
    case Primitive::kSub:
    case Primitive::kMul:
    case Primitive::kMax:
    case Primitive::kMin:
    case Primitive::kAbs:
    case Primitive::kBroadcastTo:
    case Primitive::kReshape:
    case Primitive::kPermute:
    case Primitive::kSum:
    case Primitive::kReduceSum:
    case Primitive::kGather:
    case Primitive::kScatterAdd:
    case Primitive::kSelect:
    case Primitive::kSlice:
    case Primitive::kConcat:
    case Primitive::kDetach:
      return false;
    default:
      return true;
  }
}

// Of two operands of one shape.
Tensor OfTwo(const OpCall& call, Tensor a, Tensor b) {
  switch (call.op) {
    case Primitive::kAdd:
      return a + b;
    case Primitive::kSub:
      return a - b;
    case Primitive::kMul:
      return Mul(a, b);
    case Primitive::kMax:
      return Max(a, b);
    case Primitive::kMin:
      return Min(a, b);
    default:
      return MeanSquaredError(a, b, call.where);
  }
}

// Pointwise, of one operand.
absl::StatusOr<Tensor> OfOne(const OpCall& call, Tensor x) {
  switch (call.op) {
    case Primitive::kScale:
      return Mul(x, call.numbers[0]);
    case Primitive::kShift:
      return x + call.numbers[0];
    case Primitive::kAbs:
      return Abs(x);
    case Primitive::kSqrt: {
      // Its slope at 0 is infinite, and times 0 NaN: the root of what is not
      // above 0 is a constant.
      const Tensor above = Less(0, x);
      return Where(above, Sqrt(Where(above, x, 1)), StopGradient(Sqrt(x)));
    }
    case Primitive::kClamp: {
      const double low = call.numbers[0], high = call.numbers[1];
      if (!(low <= high)) {
        return Unfit("the bounds ", NumberText(low), " and ", NumberText(high),
                     " are not in order");
      }
      const Tensor clamped = Min(high, Max(low, x));
      return Where(And(Less(low, x), Less(x, high)), x, StopGradient(clamped));
    }
    case Primitive::kInv:
      return Recip(x);
    case Primitive::kTokenIds:
      return Convert(x, DType::kI32);
    case Primitive::kRelu:
      return Relu(x);
    case Primitive::kSigmoid:
      return Sigmoid(x);
    case Primitive::kTanh:
      return Tanh(x);
    case Primitive::kSoftplus:
      return Softplus(x);
    case Primitive::kExp:
      return Exp(x);
    case Primitive::kLog:
      return Log(x);
    case Primitive::kSafeLog:
      return InDType(Log(Softplus(Widened(x)) + call.numbers[0]),
                     x.node().dtype);
    case Primitive::kDetach:
      return StopGradient(x);
    default:
      return absl::InternalError("a leaf is no operation");
  }
}

// One primitive with its operands.
class Builder {
 public:
  Builder(Graph& graph, const OpCall& call, absl::Span<const Operand> operands,
          int32_t step)
      : graph_(graph), call_(call), operands_(operands), step_(step) {}

  absl::StatusOr<Tensor> Make() {
    if (!operands_.empty() && NeedsFloats(call_.op)) {
      const DType dtype = x().node().dtype;
      if (!IsFloat(ComputeDType(dtype))) {
        return Unfit("operand 1 is of ", Name(dtype), "; it must be of floats");
      }
    }
    switch (call_.op) {
      case Primitive::kAdd:
      case Primitive::kSub:
      case Primitive::kMul:
      case Primitive::kMax:
      case Primitive::kMin:
      case Primitive::kMseLoss:
        OCANNL_RETURN_IF_ERROR(SameShapes());
        return OfTwo(call_, x(), operands_[1].tensor);
      case Primitive::kSoftmax:
      case Primitive::kLogSoftmax:
        return OfLastAxis();
      case Primitive::kBroadcastTo:
      case Primitive::kReshape:
      case Primitive::kPermute:
        return InOtherShape();
      case Primitive::kSum:
      case Primitive::kReduceSum:
      case Primitive::kReduceMean:
        return Reduced();
      case Primitive::kGather:
      case Primitive::kScatterAdd:
        return AtIndices();
      case Primitive::kSelect:
        return Selected();
      case Primitive::kSlice:
        return Sliced();
      case Primitive::kConcat:
        return Concatenated();
      case Primitive::kMatmul:
      case Primitive::kBmm:
        return Product();
      case Primitive::kLinear:
        return LinearMap(operands_);
      case Primitive::kMaxPool:
      case Primitive::kAvgPool:
      case Primitive::kSmoothMaxPool:
      case Primitive::kConv:
      case Primitive::kConvTranspose:
        return AddImageOp(call_, operands_);
      case Primitive::kLayerNorm:
      case Primitive::kBatchnormChannelFirst:
        return Normalise(call_, operands_);
      case Primitive::kMultiHeadAttention:
        return Attend(call_, operands_);
      case Primitive::kRandUniform:
      case Primitive::kBernoulliMask:
        return Random();
      default:
        return OfOne(call_, x());
    }
  }

 private:
  Tensor x() const { return operands_[0].tensor; }
  const Dims& dims(size_t k = 0) const { return operands_[k].dims; }
  double number(size_t k) const { return call_.numbers[k]; }
  Dims NumbersAsDims() const {
    return {call_.numbers.begin(), call_.numbers.end()};
  }

  absl::Status SameShapes() const {
    if (dims(0) == dims(1)) return absl::OkStatus();
    return Unfit("shapes ", DimsText(dims(0)), " and ", DimsText(dims(1)),
                 " differ; BroadcastTo repeats one");
  }

  Tensor OfLastAxis() const {
    // A number is a group of one.
    const Operand group =
        dims().empty() ? ReshapeTo(operands_[0], {1}) : operands_[0];
    Axes names = AxisNames(group.dims.size());
    std::string spec = absl::StrCat(Row(names), " => ");
    names.back() = std::string(1, '0');
    absl::StrAppend(&spec, Row(names));
    const Tensor y = call_.op == Primitive::kSoftmax
                         ? Softmax(spec, group.tensor, call_.where)
                         : LogSoftmax(spec, group.tensor, call_.where);
    return ReshapeTo({y, group.dims}, dims()).tensor;
  }

  absl::StatusOr<Tensor> InOtherShape() const {
    const Dims to = NumbersAsDims();
    if (call_.op == Primitive::kBroadcastTo) {
      OCANNL_ASSIGN_OR_RETURN(const Operand y, BroadcastTo(operands_[0], to));
      return y.tensor;
    }
    if (call_.op == Primitive::kReshape) {
      bool fits = NumElements(to) == NumElements(dims());
      for (int64_t size : to) fits = fits && size > 0;
      if (fits) return ReshapeTo(operands_[0], to).tensor;
      return Unfit("shape ", DimsText(dims()), " does not have the cells of ",
                   DimsText(to));
    }
    std::vector<size_t> order;
    std::vector<bool> seen(dims().size());
    bool fits = to.size() == dims().size();
    for (int64_t axis : to) {
      fits = fits && axis >= 0 && axis < static_cast<int64_t>(seen.size()) &&
             !seen[axis];
      if (!fits) break;
      seen[axis] = true;
      order.push_back(axis);
    }
    if (fits) return PermuteAxes(operands_[0], order).tensor;
    return Unfit(DimsText(to), " is no order of the axes of shape ",
                 DimsText(dims()));
  }

  absl::StatusOr<Tensor> Reduced() const {
    const Axes names = AxisNames(dims().size());
    if (call_.op == Primitive::kSum) {
      return ReduceTo(Op::kAdd, {x(), names}, {});
    }
    if (number(0) < 0 || number(0) >= static_cast<double>(dims().size())) {
      return Unfit("shape ", DimsText(dims()), " has no axis ",
                   NumberText(number(0)));
    }
    const auto axis = static_cast<size_t>(number(0));
    Axes rest = names;
    rest.erase(rest.begin() + static_cast<int64_t>(axis));
    const bool is_sum = call_.op == Primitive::kReduceSum;
    const Term term = {is_sum ? x() : Widened(x()), names};
    const Tensor sum = ReduceTo(Op::kAdd, term, rest);
    return is_sum ? sum : InDType(sum / dims()[axis], x().node().dtype);
  }

  // The sizes of the axes of operand k, which has some, but the first.
  Dims Rest(size_t k = 0) const { return {dims(k).begin() + 1, dims(k).end()}; }

  absl::Status CheckIndices(size_t k) const {
    if (dims().empty()) return Unfit("a number has no cells to index");
    const DType dtype = operands_[k].tensor.node().dtype;
    if (IsInteger(dtype)) return absl::OkStatus();
    return Unfit("operand ", k + 1, " is of ", Name(dtype),
                 "; indices are integers, as TokenIdsFromFloatVec makes them");
  }

  absl::StatusOr<Tensor> AtIndices() const {
    OCANNL_RETURN_IF_ERROR(CheckIndices(1));
    const std::string ids = Row(AxisNames(dims(1).size(), "i"));
    const std::string rest = Row(AxisNames(dims().size() - 1, "r"));
    if (call_.op == Primitive::kGather) {
      return Gather(absl::StrCat("v, ", rest, "; ", ids, " => ", ids, rest),
                    x(), operands_[1].tensor, call_.where);
    }
    Dims wanted = dims(1);
    for (int64_t size : Rest()) wanted.push_back(size);
    if (dims(2) != wanted) {
      return Unfit("what is added has shape ", DimsText(dims(2)),
                   "; it must have ", DimsText(wanted));
    }
    const Operand index = ReshapeTo(operands_[1], {NumElements(dims(1))});
    Dims rows = {index.dims[0]};
    for (int64_t size : Rest()) rows.push_back(size);
    const Operand values = ReshapeTo(operands_[2], rows);
    return x() + ScatterAdd(absl::StrCat("b, ", rest, "; b, => v, ", rest),
                            values.tensor, index.tensor, dims()[0],
                            call_.where);
  }

  absl::StatusOr<Tensor> Selected() const {
    const auto* symbol =
        std::get_if<SymbolSource>(&operands_[1].tensor.node().source);
    if (symbol == nullptr) {
      return Unfit("operand 2 is no Index of the step's inputs; ",
                   "GatherRowsNat takes integers");
    }
    const int64_t range = *graph_.statics()[symbol->static_index].range;
    if (dims().empty() || dims()[0] != range) {
      return Unfit("the index has ", range, " values, and shape ",
                   DimsText(dims()), " has no first axis of that size");
    }
    const std::string rest = Row(AxisNames(dims().size() - 1, "r"));
    return Slice(Einsum1(absl::StrCat("i, ", rest, " => i, |", rest), x()),
                 symbol->static_index);
  }

  absl::StatusOr<Tensor> Sliced() const {
    const bool is_cell = call_.numbers.size() == 1;
    const double start = number(0), size = is_cell ? 1 : number(1);
    if (dims().empty() || start < 0 || size < 1 ||
        start + size > static_cast<double>(dims()[0])) {
      return Unfit("shape ", DimsText(dims()), " has no cells ",
                   NumberText(start), " to ", NumberText(start + size - 1),
                   " of the first axis");
    }
    const Operand part = PartOf(operands_[0], 0, static_cast<int64_t>(start),
                                static_cast<int64_t>(size));
    return is_cell ? ReshapeTo(part, Rest()).tensor : part.tensor;
  }

  absl::StatusOr<Tensor> Concatenated() const {
    if (operands_.empty()) return Unfit("there is nothing to concatenate");
    std::vector<std::string> rows;
    std::vector<Arg> args;
    std::string joined;
    const std::string rest =
        Row(AxisNames(dims().empty() ? 0 : dims().size() - 1, "r"));
    for (size_t k = 0; k < operands_.size(); ++k) {
      if (dims(k).empty() || dims().empty() || Rest(k) != Rest()) {
        return Unfit("shapes ", DimsText(dims()), " and ", DimsText(dims(k)),
                     " differ in more than the first axis, or have none");
      }
      const std::string name = absl::StrCat("p", k);
      rows.push_back(absl::StrCat(name, ", ", rest));
      absl::StrAppend(&joined, k > 0 ? "^" : "", name);
      args.push_back(operands_[k].tensor);
    }
    if (operands_.size() == 1) return x();
    return Concat(
        absl::StrCat(absl::StrJoin(rows, "; "), " => ", joined, ", ", rest),
        args);
  }

  absl::StatusOr<Tensor> Product() const {
    const size_t rank = call_.op == Primitive::kMatmul ? 2 : 3;
    OCANNL_RETURN_IF_ERROR(CheckRank(operands_, 0, rank));
    OCANNL_RETURN_IF_ERROR(CheckRank(operands_, 1, rank));
    if (dims(0)[rank - 1] != dims(1)[rank - 2] ||
        (rank == 3 && dims(0)[0] != dims(1)[0])) {
      return Unfit("shapes ", DimsText(dims(0)), " and ", DimsText(dims(1)),
                   " do not multiply");
    }
    if (rank == 2) {
      return SumOfProducts(
          {{x(), {"i", "k"}}, {operands_[1].tensor, {"k", "j"}}}, {"i", "j"});
    }
    return SumOfProducts(
        {{x(), {"b", "i", "k"}}, {operands_[1].tensor, {"b", "k", "j"}}},
        {"b", "i", "j"});
  }

  absl::StatusOr<Tensor> Random() const {
    const Dims to = NumbersAsDims();
    for (int64_t size : to) {
      if (size < 1) return Unfit("shape ", DimsText(to), " has no cells");
    }
    const Tensor drawn =
        Uniform(graph_, {.counter = EmbedSymbol(graph_, step_)});
    TensorNode sized = drawn.node();
    Shape shape;
    shape[RowKind::kOutput] = to;
    sized.spec.Mutable().rows = SpecOf(shape).rows;
    const Tensor uniform = {&graph_, graph_.Add(std::move(sized))};
    if (call_.op == Primitive::kRandUniform) return uniform;
    OCANNL_RETURN_IF_ERROR(CheckRank(operands_, 0, 0));
    OCANNL_ASSIGN_OR_RETURN(const Operand keep, BroadcastTo(operands_[0], to));
    return Where(Less(uniform, StopGradient(keep.tensor)), Number(graph_, 1),
                 0);
  }

  Graph& graph_;
  const OpCall& call_;
  absl::Span<const Operand> operands_;
  int32_t step_;
};

}  // namespace

absl::StatusOr<Tensor> AddPrimitive(Graph& graph, const OpCall& call,
                                    absl::Span<const Operand> operands,
                                    int32_t step) {
  return Builder(graph, call, operands, step).Make();
}

}  // namespace ocannl::train
