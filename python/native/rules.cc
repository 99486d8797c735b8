// SPDX-License-Identifier: Apache-2.0
//
// Optimisers and learning rates.
#include "python/native/rules.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using train::UpdateRule;

// A learning rate by the number of the step. Rate in Python has checked it.
Node Rate(const SessionPtr& session, const std::string& kind, double first,
          double last, int64_t steps, int64_t warmup, const UserLine& where) {
  Graph& graph = session->model.graph;
  const int32_t step = session->training.step;
  const Tensor rate = kind == "constant" ? Number(graph, first, where)
                      : kind == "cosine"
                          ? train::CosineRate(graph, step, first, last, steps)
                          : train::LinearRate(graph, step, first, last, steps);
  return Checked(session,
                 warmup > 0 ? train::Warmup(rate, step, warmup) : rate);
}

}  // namespace

void BindRules(py::module_& module) {
  py::class_<Rule>(module, "Rule");
  module.def("sgd", [](double momentum, double weight_decay, bool nesterov) {
    return Rule{train::Sgd({momentum, weight_decay, nesterov})};
  });
  module.def("adam", [](double beta1, double beta2, double epsilon,
                        double weight_decay, bool amsgrad) {
    return Rule{train::Adam({beta1, beta2, epsilon, weight_decay, amsgrad})};
  });
  module.def("adamw", [](double beta1, double beta2, double epsilon,
                         double weight_decay, bool amsgrad) {
    return Rule{train::AdamW({beta1, beta2, epsilon, weight_decay, amsgrad})};
  });
  module.def("rmsprop", [](double alpha, double epsilon, double weight_decay,
                           double momentum, bool centered) {
    return Rule{
        train::RmsProp({alpha, epsilon, weight_decay, momentum, centered})};
  });
  module.def("lion", [](double beta1, double beta2, double weight_decay) {
    return Rule{train::Lion({beta1, beta2, weight_decay})};
  });
  module.def("muon", [](double momentum, double weight_decay, bool nesterov) {
    return Rule{train::Muon({momentum, weight_decay, nesterov})};
  });
  module.def("clip_by_global_norm", [](double max_norm) {
    return Rule{train::ClipByGlobalNorm(max_norm)};
  });
  module.def("chain", [](const std::vector<Rule>& rules) {
    std::vector<UpdateRule> parts;
    for (const Rule& rule : rules) parts.push_back(Check(rule.rule));
    return Rule{train::Chain(parts)};
  });
  module.def("rate", &Rate);
}

}  // namespace ocannl::python
