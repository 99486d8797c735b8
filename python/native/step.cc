// SPDX-License-Identifier: Apache-2.0
//
// Step: one step of a training, and the loss that it returns.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "python/native/arrays.h"
#include "python/native/code.h"
#include "python/native/rules.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using train::UpdateCode;
using train::UpdateRule;

// The loss of one step. It is read when it is asked for, or before the next
// step takes its place.
struct Loss {
  std::optional<double> value;
};

class Step : public CompiledCode {
 public:
  Step(SessionPtr session, Node loss, const absl::StatusOr<UpdateRule>& rule,
       const Node& rate, const Inputs& inputs)
      : CompiledCode(std::move(session), "step"),
        loss_(loss),
        loss_name_(loss.tensor.node().name) {
    session_->CheckProcess();
    Session& s = *session_;
    absl::StatusOr<Routine> routine = absl::UnknownError("");
    {
      const Unlocked unlocked(s);
      // The code of another step may have computed some of these tensors.
      routine = train::WithoutRootnessCheck(
          s.model, [&] { return Compile(s, rule, rate); });
    }
    SetRoutine(Check(std::move(routine)), inputs);
    step_ = StepNumber();
    for (const Slot& slot : slots_) keys_.emplace_back(slot.key);
  }

  // In the order of the slots. None: others are given, or not all.
  std::optional<std::vector<py::object>> ValuesOf(
      const py::dict& inputs) const {
    if (inputs.size() != keys_.size()) return std::nullopt;
    std::vector<py::object> values;
    values.reserve(keys_.size());
    for (const py::str& key : keys_) {
      PyObject* const value = PyDict_GetItemWithError(inputs.ptr(), key.ptr());
      if (value == nullptr) return std::nullopt;
      values.push_back(py::reinterpret_borrow<py::object>(value));
    }
    return values;
  }

  std::shared_ptr<Loss> Run(const std::vector<py::object>& values) {
    session_->CheckProcess();
    const std::vector<ArrayView> views = ViewsOf(values);
    const auto loss = std::make_shared<Loss>();
    absl::Status status;
    {
      const Unlocked unlocked(*session_);
      status = RunLocked(views, loss);
    }
    Check(status);
    return loss;
  }

  double Read(Loss& loss) {
    absl::Status status;
    {
      const Unlocked unlocked(*session_);
      status = ReadLocked(loss);
    }
    Check(status);
    return *loss.value;
  }

  int64_t count() const { return count_; }
  void set_count(int64_t count) {
    if (count < 0) Raise("the number of steps is 0 or more");
    count_ = count;
  }

  void Rewrite(const std::string& script) {
    const std::lock_guard working(session_->working);
    if (last_ != nullptr) Check(ReadLocked(*last_));
    routine_.emplace(Check(Rewritten(script)));
    step_ = StepNumber();
  }

  // Parameters, states of blocks and of the optimiser, and the number of steps.
  std::vector<Array> SavedArrays() {
    std::vector<Array> arrays = Check(train::StateArrays(
        session_->model, loss_.tensor, {&routine_->program()}));
    arrays.push_back({.name = kSteps, .dtype = DType::kI64, .dims = {}});
    return arrays;
  }
  void Save(const std::string& path) {
    const std::lock_guard working(session_->working);
    Check(session_->context.Write(kSteps, NdArray::Of<int64_t>({}, {count_}),
                                  Context::Unused::kIsLeft));
    Check(train::SaveParams(path, SavedArrays(), session_->context));
  }
  void Load(const std::string& path) {
    const std::lock_guard working(session_->working);
    Check(train::RestoreParams(path, SavedArrays(), session_->context,
                               {.layout = train::FileLayout::kOcannl}));
    count_ = Check(session_->context.Read(kSteps)).values<int64_t>()[0];
  }

 private:
  static constexpr char kSteps[] = "steps_done";

  absl::Status RunLocked(const std::vector<ArrayView>& views,
                         const std::shared_ptr<Loss>& loss) {
    if (last_ != nullptr && last_.use_count() > 1) {
      OCANNL_RETURN_IF_ERROR(ReadLocked(*last_));
    }
    OCANNL_RETURN_IF_ERROR(Write(views));
    if (step_) OCANNL_RETURN_IF_ERROR(step_->Set(count_));
    OCANNL_RETURN_IF_ERROR(routine_->Run());
    ++count_;
    last_ = loss;
    return absl::OkStatus();
  }

  absl::Status ReadLocked(Loss& loss) const {
    if (loss.value) return absl::OkStatus();
    return routine_->context().Use(
        loss_name_, [&](absl::Span<const std::byte> bytes) {
          NdArray cell(loss_.tensor.node().dtype, {});
          std::memcpy(cell.data(), bytes.data(), cell.bytes());
          loss.value = cell.AsDouble(0);
          return absl::OkStatus();
        });
  }

  // The updates of the states of blocks that the loss was computed through.
  std::vector<train::StateUpdate> Updates(const Session& s) const {
    const std::vector<TensorId> order =
        TopologicalOrder(s.model.graph, {loss_.tensor.id}, false);
    const absl::flat_hash_set<TensorId> computed(order.begin(), order.end());
    std::vector<train::StateUpdate> updates;
    for (size_t k = 0; k < s.training.updates.size(); ++k) {
      if (computed.contains(s.updated_with[k])) {
        updates.push_back(s.training.updates[k]);
      }
    }
    return updates;
  }

  absl::StatusOr<Routine> Compile(Session& s,
                                  const absl::StatusOr<UpdateRule>& rule,
                                  const Node& rate) {
    train::Model& model = s.model;
    OCANNL_ASSIGN_OR_RETURN(Assignments gradient,
                            train::GradUpdate(model, loss_.tensor));
    const std::vector<train::StateUpdate> updates = Updates(s);
    OCANNL_ASSIGN_OR_RETURN(UpdateCode states,
                            train::UpdateStates(model, updates));
    OCANNL_ASSIGN_OR_RETURN(
        UpdateCode code,
        train::RuleUpdate(model, loss_.tensor, rate.tensor, rule));
    OCANNL_ASSIGN_OR_RETURN(
        s.context, train::RunMissingInit(model, loss_.tensor, s.context));
    for (const train::StateUpdate& update : updates) {
      OCANNL_ASSIGN_OR_RETURN(
          s.context, train::RunMissingInit(model, update.value, s.context));
    }
    if (!code.init.list.empty()) {
      OCANNL_ASSIGN_OR_RETURN(Routine init,
                              ToRoutine(s.context, code.init, {}));
      OCANNL_RETURN_IF_ERROR(train::SyncRun(init));
      s.context = init.context();
    }
    code_ =
        train::Sequence(name_, {std::move(gradient), std::move(states.update),
                                std::move(code.update)});
    return ToRoutine(s.context, code_, {});
  }

  Node loss_;
  std::string loss_name_;  // when the code was made
  std::optional<StaticRef> step_;
  std::vector<py::str> keys_;  // of the slots
  int64_t count_ = 0;
  std::shared_ptr<Loss> last_;
};

// What a step returns: it keeps the step alive until the number is read.
struct LossHandle {
  std::shared_ptr<Step> step;
  std::shared_ptr<Loss> loss;

  double value() const { return step->Read(*loss); }
};

}  // namespace

void BindSteps(py::module_& module) {
  py::class_<LossHandle>(module, "Loss")
      .def("__float__", &LossHandle::value)
      .def("__repr__", [](const LossHandle& loss) {
        return absl::StrCat("ocannl.Loss(", loss.value(), ")");
      });

  py::class_<Step, CompiledCode, std::shared_ptr<Step>>(module, "Step")
      .def(py::init([](const SessionPtr& session, const Node& loss,
                       const Rule& rule, const Node& rate,
                       const CompiledCode::Inputs& inputs) {
        return std::make_shared<Step>(session, loss, rule.rule, rate, inputs);
      }))
      .def("run",
           [](const std::shared_ptr<Step>& step,
              const py::dict& inputs) -> py::object {
             const std::optional<std::vector<py::object>> values =
                 step->ValuesOf(inputs);
             if (!values) return py::none();
             return py::cast(LossHandle{step, step->Run(*values)});
           })
      .def_property("count", &Step::count, &Step::set_count)
      .def("rewrite", &Step::Rewrite)
      .def("save", &Step::Save)
      .def("load", &Step::Load);
}

}  // namespace ocannl::python
