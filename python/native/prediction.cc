// SPDX-License-Identifier: Apache-2.0
//
// Forward: the values of tensors, for inputs of one batch.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "python/native/arrays.h"
#include "python/native/code.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

class Forward : public CompiledCode {
 public:
  Forward(SessionPtr session, const std::vector<Node>& outputs,
          const Inputs& inputs)
      : CompiledCode(std::move(session), "predict"), outputs_(outputs) {
    session_->CheckProcess();
    Session& s = *session_;
    for (Node& output : outputs_) {
      const TensorNode& node = output.tensor.node();
      // The code of a leaf is empty: that of a copy is not.
      if (OperandsOf(node.source).empty()) {
        output.tensor = Stretch(output.tensor);
      }
      names_.push_back(output.tensor.node().name);
    }
    absl::StatusOr<Routine> routine = absl::UnknownError("");
    {
      const Unlocked unlocked(s);
      const ComputedBy before = std::exchange(s.model.computed_by, {});
      routine = Compile(s);
      s.model.computed_by = before;
    }
    SetRoutine(Check(std::move(routine)), inputs);
    SetStepNumber();
  }

  std::vector<std::shared_ptr<HostArray>> Run(
      const std::vector<py::object>& values) {
    session_->CheckProcess();
    const Context& context = routine_->context();
    const std::vector<ArrayView> views = ViewsOf(values);
    std::vector<std::shared_ptr<HostArray>> read;
    absl::Status status;
    {
      const Unlocked unlocked(*session_);
      status = Write(views);
      if (status.ok()) status = routine_->Run();
      for (const std::string& name : names_) {
        if (!status.ok()) break;
        auto array = ReadArray(context, name);
        status = array.status();
        if (array.ok()) read.push_back(*std::move(array));
      }
    }
    Check(status);
    return read;
  }

  void Rewrite(const std::string& script) {
    const std::lock_guard working(session_->working);
    routine_.emplace(Check(Rewritten(script)));
    SetStepNumber();
  }

 private:
  // Predictions are those of the first step.
  void SetStepNumber() {
    if (std::optional<StaticRef> step = StepNumber()) Check(step->Set(0));
  }

  // Outputs may share tensors, which the code of the first of them computes:
  // those that others read are kept.
  absl::Status KeepShared(const Graph& graph) const {
    absl::flat_hash_set<TensorId> computed;
    for (const Node& output : outputs_) {
      const std::vector<TensorId> order =
          TopologicalOrder(graph, {output.tensor.id}, false);
      for (TensorId id : order) {
        if (computed.contains(id)) continue;
        for (TensorId operand : OperandsOf(graph[id].source)) {
          if (!computed.contains(operand)) continue;
          OCANNL_RETURN_IF_ERROR(SetMemoryMode(
              Tensor{output.tensor.graph, operand}, MemoryMode::kMaterialized));
        }
      }
      for (TensorId id : order) {
        if (!OperandsOf(graph[id].source).empty()) computed.insert(id);
      }
      OCANNL_RETURN_IF_ERROR(
          SetMemoryMode(output.tensor, MemoryMode::kMaterialized));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Routine> Compile(Session& s) {
    if (outputs_.size() > 1) {
      OCANNL_RETURN_IF_ERROR(KeepShared(s.model.graph));
    }
    std::vector<Assignments> parts;
    for (const Node& output : outputs_) {
      OCANNL_ASSIGN_OR_RETURN(parts.emplace_back(),
                              train::Forward(s.model, output.tensor));
      OCANNL_ASSIGN_OR_RETURN(
          s.context, train::RunMissingInit(s.model, output.tensor, s.context));
    }
    code_ = train::Sequence(name_, parts);
    return ToRoutine(s.context, code_, {});
  }

  std::vector<Node> outputs_;
  std::vector<std::string> names_;  // theirs, when the code was made
};

}  // namespace

void BindPredictions(py::module_& module) {
  py::class_<Forward, CompiledCode, std::shared_ptr<Forward>>(module, "Forward")
      .def(py::init<SessionPtr, const std::vector<Node>&,
                    const CompiledCode::Inputs&>())
      .def("run", &Forward::Run)
      .def("rewrite", &Forward::Rewrite);
}

}  // namespace ocannl::python
