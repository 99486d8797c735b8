// SPDX-License-Identifier: Apache-2.0
//
// The linear map, normalisations and attention.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/wide.h"
#include "ocannl/train/eager/axes.h"
#include "ocannl/train/eager/functions.h"

namespace ocannl::train::fn {
namespace {

constexpr double kNormEpsilonOfTrainer = 1e-6;

// Of the last axis, which gamma and beta have, or of all cells of each channel.
Made Normalise(const Operand& x, const Operand& gamma, const Operand& beta,
               bool is_layer) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x.tensor));
  const Dims& dims = x.dims;
  OCANNL_RETURN_IF_ERROR(dims.empty() ? CheckRank(x, 1, 1) : absl::OkStatus());
  const Dims scaled = {is_layer ? dims.back() : dims[0]};
  for (const Operand* each : {&gamma, &beta}) {
    if (each->dims == scaled) continue;
    return UserError("operand ", each == &gamma ? 2 : 3, " has shape ",
                     DimsText(each->dims), "; for x ", DimsText(dims),
                     " it must have ", DimsText(scaled));
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
  const Tensor wide = Widened(x.tensor);
  const Tensor mean = ReduceTo(Op::kAdd, {wide, names}, kept) / count;
  const Tensor centred = wide - mean;
  const Tensor variance =
      ReduceTo(Op::kAdd, {Square(centred), names}, kept) / count;
  const Tensor normal =
      centred / ocannl::Sqrt(variance + kNormEpsilonOfTrainer);
  auto of_shape_of_x = [&](const Operand& each) {
    return ReduceTo(Op::kAdd, {Widened(each.tensor), Axes(1, names[own])},
                    names, repeated);
  };
  const Tensor scale = of_shape_of_x(gamma), shift = of_shape_of_x(beta);
  return InDType(Mul(scale, normal) + shift, x.tensor.node().dtype);
}

}  // namespace

Made LayerNorm(const Operand& x, const Operand& gamma, const Operand& beta) {
  return Normalise(x, gamma, beta, /*is_layer=*/true);
}

Made BatchnormChannelFirst(const Operand& x, const Operand& gamma,
                           const Operand& beta) {
  return Normalise(x, gamma, beta, /*is_layer=*/false);
}

Made Linear(const Operand& w, const Operand& b, const Operand& x) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(w.tensor));
  OCANNL_RETURN_IF_ERROR(CheckRank(w, 1, 2));
  const Dims& in = x.dims;
  if (b.dims != Dims{w.dims[0]} || in.empty() || in.back() != w.dims[1]) {
    return UserError("w ", DimsText(w.dims), ", b ", DimsText(b.dims),
                     " and x ", DimsText(in),
                     " do not fit; they are out,in and out and ", "...,in");
  }
  Axes from = AxisNames(in.size() - 1);
  Axes to = from;
  from.push_back("in");
  to.push_back("out");
  Dims result = in;
  result.back() = w.dims[0];
  const Tensor product =
      SumOfProducts({{w.tensor, {"out", "in"}}, {x.tensor, from}}, to);
  OCANNL_ASSIGN_OR_RETURN(const Operand bias, train::BroadcastTo(b, result));
  // This way round, backpropagation sums the bias's gradient where its cells
  // come about, and the planner fuses the two.
  return product + bias.tensor;
}

Made MultiHeadAttention(const Operand& wq, const Operand& wk, const Operand& wv,
                        const Operand& wo, const Operand& x, int64_t heads,
                        const std::optional<Operand>& mask,
                        SourceLocation where) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(wq.tensor));
  OCANNL_RETURN_IF_ERROR(CheckRank(x, 5, 2));
  const int64_t n = x.dims[0], d = x.dims[1];
  const int64_t all = wq.dims.size() == 2 ? wq.dims[1] : 0;
  const bool fits = wq.dims == Dims{d, all} && wk.dims == Dims{d, all} &&
                    wv.dims == Dims{d, all} && wo.dims == Dims{all, d} &&
                    heads > 0 && all % heads == 0 &&
                    (!mask || mask->dims == Dims{n, n});
  if (!fits) {
    return UserError("for x ", DimsText(x.dims), " and ", heads,
                     " heads, wq, wk and wv are d,heads*size, wo is ",
                     "heads*size,d and the mask n,n; wq is ",
                     DimsText(wq.dims));
  }
  const int64_t size = all / heads;
  auto project = [&](const Operand& by) {
    const Operand w = ReshapeTo(by, {d, heads, size});
    return Widened(
        SumOfProducts({{x.tensor, {"n", "d"}}, {w.tensor, {"d", "h", "s"}}},
                      {"n", "h", "s"}));
  };
  const Tensor q = project(wq), k = project(wk), v = project(wv);
  const Tensor scores =
      SumOfProducts({{q, {"n", "h", "s"}}, {k, {"t", "h", "s"}}},
                    {"h", "n", "t"}) /
      std::sqrt(static_cast<double>(size));
  constexpr char kOverPlaces[] = "h, n, t => h, n, 0";
  std::optional<Tensor> seen;
  if (mask) {
    OCANNL_ASSIGN_OR_RETURN(
        const Operand wide,
        train::BroadcastTo({Convert(mask->tensor, DType::kU8), mask->dims},
                           {heads, n, n}));
    seen = NotEqual(wide.tensor, 0);
  }
  const auto [e, sum] = PartsOfSoftmax(kOverPlaces, scores, seen, where);
  const Tensor found =
      InDType(SumOfProducts({{e, {"h", "n", "t"}}, {v, {"t", "h", "s"}}},
                            {"n", "h", "s"}) /
                  Einsum1("h, n, 0 => n, h, 0", sum),
              x.tensor.node().dtype);
  const Operand out = ReshapeTo(wo, {heads, size, d});
  return SumOfProducts(
      {{found, {"n", "h", "s"}}, {out.tensor, {"h", "s", "d"}}}, {"n", "d"});
}

}  // namespace ocannl::train::fn
