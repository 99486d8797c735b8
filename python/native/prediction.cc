// SPDX-License-Identifier: Apache-2.0
//
// Forward: the values of tensors, for inputs of one batch.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <utility>

#include "ocannl/onnx/export.h"
#include "ocannl/train/run/forward_all.h"
#include "python/native/arrays.h"
#include "python/native/code.h"
#include "python/native/interruptible.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using HostArrays = std::vector<std::shared_ptr<HostArray>>;

class Forward : public CompiledCode {
 public:
  Forward(SessionPtr session, const std::vector<Node>& outputs,
          const Inputs& inputs)
      : CompiledCode(std::move(session), "predict") {
    session_->CheckProcess();
    for (const Node& output : outputs) {
      // The code of a leaf is empty: that of a copy is not.
      const bool is_leaf = OperandsOf(output.tensor.node().source).empty();
      const Tensor& tensor = outputs_.emplace_back(
          is_leaf ? Stretch(output.tensor) : output.tensor);
      names_.push_back(tensor.node().name);
    }
    const auto made = std::make_shared<Compiled>();
    Check(Interruptible(
        session_, [made, s = session_, name = name_, tensors = outputs_] {
          return train::WithoutRootnessCheck(
              s->model, [&] { return Compile(*s, name, tensors, *made); });
        }));
    SetCode(std::move(*made), inputs);
    SetStepNumber();
  }

  static HostArrays Run(const std::shared_ptr<Forward>& code,
                        const std::vector<py::object>& values) {
    code->session_->CheckProcess();
    const auto read = std::make_shared<HostArrays>();
    Check(code->pace_.Do(
        code->session_,
        [code, read, views = code->ViewsOf(values)]() -> absl::Status {
          OCANNL_RETURN_IF_ERROR(code->Write(views));
          OCANNL_RETURN_IF_ERROR(code->routine_->Run());
          for (const std::string& name : code->names_) {
            OCANNL_ASSIGN_OR_RETURN(read->emplace_back(),
                                    ReadArray(code->routine_->context(), name));
          }
          return absl::OkStatus();
        }));
    return std::move(*read);
  }

  // The outputs as an ONNX file, under these names.
  void SaveOnnx(const std::string& path,
                const std::vector<std::string>& names) {
    session_->CheckProcess();
    Session& s = *session_;
    onnx::ExportOptions options;
    std::vector<Tensor> inputs;
    for (const Slot& slot : slots_) {
      inputs.push_back({&s.model.graph, *s.model.graph.Find(slot.name)});
      options.names[slot.name] = slot.key;
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      options.names[outputs_[k].node().name] = names[k];
    }
    Check(DoUnlocked(s, [&] {
      return onnx::Export(s.model, outputs_, inputs, s.context, path, options);
    }));
  }

  void Rewrite(const std::string& script) {
    routine_.emplace(
        Check(DoUnlocked(*session_, [&] { return Rewritten(script); })));
    SetStepNumber();
  }

 private:
  // Predictions are those of the first step.
  void SetStepNumber() {
    if (std::optional<StaticRef> step = StepNumber()) Check(step->Set(0));
  }

  static absl::Status Compile(Session& s, const std::string& name,
                              const std::vector<Tensor>& tensors,
                              Compiled& made) {
    OCANNL_ASSIGN_OR_RETURN(made.code,
                            train::ForwardAll(s.model, tensors, name));
    for (Tensor tensor : tensors) {
      OCANNL_ASSIGN_OR_RETURN(
          s.context, train::RunMissingInit(s.model, tensor, s.context));
    }
    OCANNL_ASSIGN_OR_RETURN(made.routine, ToRoutine(s.context, made.code, {}));
    return absl::OkStatus();
  }

  std::vector<Tensor> outputs_;
  std::vector<std::string> names_;  // of the outputs, when the code was made
  Pace pace_;
};

}  // namespace

void BindPredictions(py::module_& module) {
  py::class_<Forward, CompiledCode, std::shared_ptr<Forward>>(module, "Forward")
      .def(py::init<SessionPtr, const std::vector<Node>&,
                    const CompiledCode::Inputs&>())
      .def("run", &Forward::Run)
      .def("save_onnx", &Forward::SaveOnnx)
      .def("rewrite", &Forward::Rewrite);
}

}  // namespace ocannl::python
