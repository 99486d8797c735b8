// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/trainer/layers.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/wide.h"
#include "ocannl/train/trainer/axes.h"

namespace ocannl::train {
namespace {

constexpr double kNormEpsilonOfTrainer = 1e-6;

}  // namespace

absl::StatusOr<Tensor> LinearMap(absl::Span<const Operand> operands) {
  OCANNL_RETURN_IF_ERROR(CheckRank(operands, 0, 2));
  const Dims &w = operands[0].dims, &b = operands[1].dims,
             &in = operands[2].dims;
  if (b != Dims{w[0]} || in.empty() || in.back() != w[1]) {
    return Unfit("w ", DimsText(w), ", b ", DimsText(b), " and x ",
                 DimsText(in), " do not fit; they are out,in and out and ",
                 "...,in");
  }
  Axes from = AxisNames(in.size() - 1);
  Axes to = from;
  from.push_back("in");
  to.push_back("out");
  Dims result = in;
  result.back() = w[0];
  const Tensor product = SumOfProducts(
      {{operands[0].tensor, {"out", "in"}}, {operands[2].tensor, from}}, to);
  OCANNL_ASSIGN_OR_RETURN(const Operand bias, BroadcastTo(operands[1], result));
  // This way round, backpropagation sums the bias's gradient where its cells
  // come about, and the planner fuses the two.
  return product + bias.tensor;
}

absl::StatusOr<Tensor> Normalise(const OpCall& call,
                                 absl::Span<const Operand> operands) {
  const Dims& dims = operands[0].dims;
  const bool is_layer = call.op == Primitive::kLayerNorm;
  OCANNL_RETURN_IF_ERROR(dims.empty() ? CheckRank(operands, 0, 1)
                                      : absl::OkStatus());
  const Dims scaled = {is_layer ? dims.back() : dims[0]};
  for (size_t k : {1, 2}) {
    if (operands[k].dims == scaled) continue;
    return Unfit("operand ", k + 1, " has shape ", DimsText(operands[k].dims),
                 "; for x ", DimsText(dims), " it must have ",
                 DimsText(scaled));
  }
  const Axes names = AxisNames(dims.size());
  // The axes of mean and variance, of which those of the group are of 1, and
  // the sizes of the axes that gamma and beta do not have.
  Axes kept = names;
  AxisSizes repeated;
  const size_t own = is_layer ? dims.size() - 1 : 0;
  int64_t count = 1;
  for (size_t k = 0; k < kept.size(); ++k) {
    if (k != own) repeated.emplace_back(names[k], dims[k]);
    if ((k == own) != is_layer) continue;
    kept[k] = std::string(1, '0');
    count *= dims[k];
  }
  const DType dtype = operands[0].tensor.node().dtype;
  const Tensor x = Widened(operands[0].tensor);
  const Tensor mean = ReduceTo(Op::kAdd, {x, names}, kept) / count;
  const Tensor centred = x - mean;
  const Tensor variance =
      ReduceTo(Op::kAdd, {Square(centred), names}, kept) / count;
  const Tensor normal = centred / Sqrt(variance + kNormEpsilonOfTrainer);
  std::vector<Tensor> wide;  // gamma and beta, of the shape of x
  for (size_t k : {1, 2}) {
    wide.push_back(ReduceTo(Op::kAdd,
                            {Widened(operands[k].tensor), Axes(1, names[own])},
                            names, repeated));
  }
  return InDType(Mul(wide[0], normal) + wide[1], dtype);
}

absl::StatusOr<Tensor> Attend(const OpCall& call,
                              absl::Span<const Operand> operands) {
  OCANNL_RETURN_IF_ERROR(CheckRank(operands, 4, 2));
  const int64_t n = operands[4].dims[0], d = operands[4].dims[1];
  const auto heads = static_cast<int64_t>(call.numbers[0]);
  const int64_t all = operands[0].dims.size() == 2 ? operands[0].dims[1] : 0;
  const bool fits =
      operands[0].dims == Dims{d, all} && operands[1].dims == Dims{d, all} &&
      operands[2].dims == Dims{d, all} && operands[3].dims == Dims{all, d} &&
      heads > 0 && all % heads == 0 &&
      (operands.size() == 5 || operands[5].dims == Dims{n, n});
  if (!fits) {
    return Unfit("for x ", DimsText(operands[4].dims), " and ", heads,
                 " heads, wq, wk and wv are d,heads*size, wo is ",
                 "heads*size,d and the mask n,n; wq is ",
                 DimsText(operands[0].dims));
  }
  const int64_t size = all / heads;
  auto project = [&](size_t k) {
    const Operand w = ReshapeTo(operands[k], {d, heads, size});
    return Widened(SumOfProducts(
        {{operands[4].tensor, {"n", "d"}}, {w.tensor, {"d", "h", "s"}}},
        {"n", "h", "s"}));
  };
  const Tensor q = project(0), k = project(1), v = project(2);
  const Tensor scores =
      SumOfProducts({{q, {"n", "h", "s"}}, {k, {"t", "h", "s"}}},
                    {"h", "n", "t"}) /
      std::sqrt(static_cast<double>(size));
  constexpr char kOverPlaces[] = "h, n, t => h, n, 0";
  Tensor weights = scores;
  if (operands.size() == 5) {
    weights = Softmax(kOverPlaces, scores, call.where);
  } else {
    OCANNL_ASSIGN_OR_RETURN(
        const Operand mask,
        BroadcastTo({Convert(operands[5].tensor, DType::kU8), operands[5].dims},
                    {heads, n, n}));
    weights = MaskedSoftmax(kOverPlaces, scores, NotEqual(mask.tensor, 0),
                            call.where);
  }
  const Tensor found =
      InDType(SumOfProducts({{weights, {"h", "n", "t"}}, {v, {"t", "h", "s"}}},
                            {"n", "h", "s"}),
              operands[4].tensor.node().dtype);
  const Operand wo = ReshapeTo(operands[3], {heads, size, d});
  return SumOfProducts({{found, {"n", "h", "s"}}, {wo.tensor, {"h", "s", "d"}}},
                       {"n", "d"});
}

}  // namespace ocannl::train
