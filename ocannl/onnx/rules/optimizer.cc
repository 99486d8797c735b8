// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

// One step of an optimiser: its rate, how many steps there were, one tensor
// that it trains with its gradient, and what it remembers of that tensor.
struct Step {
  const OpCall& call;
  Value rate;
  double count;
  Value x, gradient;
  std::vector<Value> memory;
};

// The tensor and what is remembered, a step later.
using Stepper = std::vector<Value> (*)(const Step&);

std::vector<Value> Adagrad(const Step& step) {
  const double decay = step.call.Number("decay_factor", 0);
  const Value rate = step.rate / (1.0 + step.count * decay);
  const Value squares = step.memory[0] + step.gradient * step.gradient;
  const Value size = Sqrt(squares) + step.call.Number("epsilon", 1e-6);
  return {step.x - rate * step.gradient / size, squares};
}

std::vector<Value> Adam(const Step& step) {
  const double alpha = step.call.Number("alpha", 0.9);
  const double beta = step.call.Number("beta", 0.999);
  const Value& g = step.gradient;
  const Value mean = alpha * step.memory[0] + (1 - alpha) * g;
  const Value squares = beta * step.memory[1] + (1 - beta) * (g * g);
  const double mended = step.count > 0
                            ? std::sqrt(1 - std::pow(beta, step.count)) /
                                  (1 - std::pow(alpha, step.count))
                            : 1;
  const Value size = Sqrt(squares) + step.call.Number("epsilon", 1e-6);
  const double kept = 1 - step.call.Number("norm_coefficient_post", 0);
  return {kept * (step.x - mended * step.rate * mean / size), mean, squares};
}

std::vector<Value> Momentum(const Step& step) {
  const double alpha = step.call.Number("alpha", 0);
  const double beta = step.count > 0 ? step.call.Number("beta", 0) : 1;
  const Value speed = alpha * step.memory[0] + beta * step.gradient;
  const bool looks_ahead = step.call.Text("mode", "") == "nesterov";
  const Value way = looks_ahead ? step.gradient + alpha * speed : speed;
  return {step.x - step.rate * way, speed};
}

// Inputs are the rate, the count, all tensors, all gradients, then one memory
// of each; the results are the tensors and the memories.
OpRule Optimizer(std::string name, size_t memories, Stepper stepper) {
  auto rule = [=](const OpCall& call) -> absl::StatusOr<Outputs> {
    OCANNL_ASSIGN_OR_RETURN(Numbers count, call.WholeElements(1));
    const size_t tensors = (call.inputs.size() - 2) / (2 + memories);
    Outputs outputs(tensors * (1 + memories), Value(0.0));
    for (size_t k = 0; k < tensors; ++k) {
      const Value& x = call[2 + k];
      const Value gradient =
          call.Number("norm_coefficient", 0) * x + call[2 + tensors + k];
      Step step = {.call = call,
                   .rate = Reshape(call[0], {}),
                   .count = static_cast<double>(count[0]),
                   .x = x,
                   .gradient = gradient,
                   .memory = {}};
      for (size_t m = 0; m < memories; ++m) {
        step.memory.push_back(call[2 + (2 + m) * tensors + k]);
      }
      const std::vector<Value> after = stepper(step);
      for (size_t m = 0; m <= memories; ++m) {
        outputs[m * tensors + k] = after[m];
      }
    }
    return outputs;
  };
  return {std::move(name), rule};
}

}  // namespace

std::vector<OpRule> OptimizerRules() {
  return {Optimizer("Adagrad", 1, Adagrad), Optimizer("Adam", 2, Adam),
          Optimizer("Momentum", 1, Momentum)};
}

}  // namespace ocannl::onnx
