// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <utility>

#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

using Unary = Value (*)(const Value&);

// x where the condition holds, else 0, in the dtype of x.
Value Where(const Value& condition, const Value& x) {
  return Select(condition, x, 0);
}

Value Selu(const Value& x, double alpha, double gamma) {
  return gamma * Select(LessEqual(x, 0), alpha * Expm1(x), x);
}

Value HardSigmoid(const Value& x, double alpha, double beta) {
  return Sat01(alpha * x + beta);
}

Value Shrink(const Value& x, double bias, double lambda) {
  return Where(Less(x, -lambda), x + bias) + Where(Less(lambda, x), x - bias);
}

Value Swish(const Value& x, double alpha) { return x * Sigmoid(alpha * x); }

Value Gelu(const Value& x, bool by_tanh) {
  if (!by_tanh) return 0.5 * x * (1.0 + Erf(x * std::sqrt(0.5)));
  const Value cubic = x + 0.044715 * x * x * x;
  return 0.5 * x * (1.0 + Tanh(std::sqrt(2 / M_PI) * cubic));
}

std::vector<OpRule> Plain() {
  std::vector<std::pair<std::string, Unary>> functions = {
      {"Exp", Exp},
      {"Log", Log},
      {"Sin", Sin},
      {"Cos", Cos},
      {"Tanh", Tanh},
      {"Erf", Erf},
      {"Sigmoid", Sigmoid},
      {"Relu",
       [](const Value& x) {
         return IsInteger(x.dtype()) ? Max(x, 0) : Relu(x);
       }},
      {"Softplus", Softplus},
      {"Tan", Tan},
      {"Asin", Asin},
      {"Acos", Acos},
      {"Atan", Atan},
      {"Sinh", Sinh},
      {"Cosh", Cosh},
      {"Asinh", Asinh},
      {"Acosh", Acosh},
      {"Atanh", Atanh},
      {"Mish", [](const Value& x) { return x * Tanh(Softplus(x)); }},
      {"Softsign", [](const Value& x) { return x / (1.0 + Abs(x)); }},
      {"HardSwish",
       [](const Value& x) { return x * HardSigmoid(x, 1.0 / 6, 0.5); }}};
  std::vector<OpRule> rules;
  for (const auto& [name, function] : functions) {
    rules.push_back({name, [function = function](const OpCall& call) {
                       return function(call[0]);
                     }});
  }
  return rules;
}

}  // namespace

std::vector<OpRule> FunctionRules() {
  std::vector<OpRule> rules = Plain();
  rules.push_back({"Elu", [](const OpCall& call) {
                     return Selu(call[0], call.Number("alpha", 1), 1);
                   }});
  rules.push_back({"Celu", [](const OpCall& call) {
                     const double alpha = call.Number("alpha", 1);
                     const Value& x = call[0];
                     return Max(0, x) + Min(0, alpha * Expm1(x / alpha));
                   }});
  rules.push_back({"Selu", [](const OpCall& call) {
                     return Selu(call[0],
                                 call.Number("alpha", 1.67326319217681884765),
                                 call.Number("gamma", 1.05070102214813232421));
                   }});
  rules.push_back({"LeakyRelu", [](const OpCall& call) {
                     const Value& x = call[0];
                     return Select(Less(x, 0), call.Number("alpha", 0.01) * x,
                                   x);
                   }});
  rules.push_back({"Swish", [](const OpCall& call) {
                     return Swish(call[0], call.Number("alpha", 1));
                   }});
  rules.push_back({"SwiGLU", [](const OpCall& call) {
                     return Swish(call[0], call.Number("alpha", 1)) * call[1];
                   }});
  rules.push_back({"Gelu", [](const OpCall& call) {
                     return Gelu(call[0],
                                 call.Text("approximate", "none") == "tanh");
                   }});
  rules.push_back({"PRelu", [](const OpCall& call) {
                     const Value& x = call[0];
                     return Select(Less(x, 0), call[1] * x, x);
                   }});
  rules.push_back({"ThresholdedRelu", [](const OpCall& call) {
                     return Where(Less(call.Number("alpha", 1), call[0]),
                                  call[0]);
                   }});
  rules.push_back({"HardSigmoid", [](const OpCall& call) {
                     return HardSigmoid(call[0], call.Number("alpha", 0.2),
                                        call.Number("beta", 0.5));
                   }});
  rules.push_back({"Shrink", [](const OpCall& call) {
                     return Shrink(call[0], call.Number("bias", 0),
                                   call.Number("lambd", 0.5));
                   }});
  return rules;
}

}  // namespace ocannl::onnx
