// SPDX-License-Identifier: Apache-2.0
#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "tests/onnx/rules.h"

namespace ocannl::onnx {
namespace {

std::vector<int64_t> AllAxes(const Value& x) {
  std::vector<int64_t> axes(x.rank());
  absl::c_iota(axes, 0);
  return axes;
}

Value Total(const Value& x) {
  return Reshape(ReduceAxes(Op::kAdd, x, AllAxes(x)), {});
}

// The negated entry of `x`, along axis 1, of each target's class.
Value NegativeLikelihood(const OpCall& call, const Value& x) {
  const Value& target = call[1];
  Value hot = Cast(OneHot(call.graph(), target, 1, x.dims[1]), x.dtype());
  if (call.HasAttribute("ignore_index")) {
    const Value kept =
        NotEqual(target, static_cast<double>(call.Whole("ignore_index", 0)));
    Dims dims = target.dims;
    dims.insert(dims.begin() + 1, 1);
    hot = hot * Reshape(Cast(kept, x.dtype()), dims);
  }
  const Axes axes = AxisNames(x.rank());
  Axes result = axes;
  result.erase(result.begin() + 1);
  Axes classes = {axes[1]};
  const Value weight =
      call.Has(2) ? call[2] : Filled(call.graph(), {x.dims[1]}, 1, x.dtype());
  const Value weights = Product({{hot, axes}, {weight, classes}}, result);
  const Value losses = Neg(Product({{x, axes}, {hot, axes}}, result)) * weights;
  const std::string reduction = call.Text("reduction", "mean");
  if (reduction == "none") return losses;
  if (reduction == "sum") return Total(losses);
  return Total(losses) / Total(weights);
}

}  // namespace

std::vector<OpRule> LossRules() {
  return {
      {"NegativeLogLikelihoodLoss",
       [](const OpCall& call) { return NegativeLikelihood(call, call[0]); }},
      {"SoftmaxCrossEntropyLoss", [](const OpCall& call) {
         const Value logits = LogSoftmax(call[0], 1);
         return Outputs{NegativeLikelihood(call, logits), logits};
       }}};
}

}  // namespace ocannl::onnx
