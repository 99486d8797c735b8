// SPDX-License-Identifier: Apache-2.0
//
// Forward: the values of tensors, for inputs of one batch.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <utility>

#include "ocannl/train/run/forward_all.h"
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
      routine =
          train::WithoutRootnessCheck(s.model, [&] { return Compile(s); });
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

  absl::StatusOr<Routine> Compile(Session& s) {
    std::vector<Tensor> tensors;
    for (const Node& output : outputs_) tensors.push_back(output.tensor);
    OCANNL_ASSIGN_OR_RETURN(code_, train::ForwardAll(s.model, tensors, name_));
    for (Tensor tensor : tensors) {
      OCANNL_ASSIGN_OR_RETURN(
          s.context, train::RunMissingInit(s.model, tensor, s.context));
    }
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
