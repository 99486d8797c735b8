// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

Value Total(const Value& x) {
  return Reshape(ReduceAxes(Op::kAdd, x, AxesFrom(0, x.rank())), {});
}

// The negated entry of `x`, along axis 1, of each target's class, times the
// weight of the class; classes that there are not count nothing.
Value NegativeLikelihood(const OpCall& call, const Value& x) {
  const Value& target = call[1];
  const Axes axes = AxisNames(x.rank());
  Require(x.rank() >= 2, "input 0 has ", x.rank(), " axes");
  Axes result = axes;
  result.erase(result.begin() + 1);
  const Value weight =
      call.Has(2) ? call[2] : Filled(call.graph(), {x.dim(1)}, 1, x.dtype());
  Value weights = Gather({weight, {axes[1]}}, {target, result}, result);
  if (call.HasAttribute("ignore_index")) {
    const double ignored = static_cast<double>(call.Whole("ignore_index", 0));
    weights = weights * Cast(NotEqual(target, ignored), x.dtype());
  }
  const Value losses =
      Neg(Gather({x, axes}, {target, result}, result)) * weights;
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
