// SPDX-License-Identifier: Apache-2.0
#include "python/native/step.h"

#include <pybind11/stl.h>

#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/train/optim/loss_scale.h"
#include "python/native/rules.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using train::UpdateCode;
using train::UpdateRule;

constexpr char kSteps[] = "steps_done";

class StepOfOne : public Step {
 public:
  StepOfOne(SessionPtr session, const ShardOfStep& whole,
            const absl::StatusOr<UpdateRule>& rule, const Node& rate)
      : Step(std::move(session)),
        loss_(whole.loss.tensor),
        loss_name_(loss_.node().name),
        loss_dtype_(loss_.node().dtype) {
    session_->CheckProcess();
    const auto made = std::make_shared<Compiled>();
    // The code of another step may have computed some of these tensors.
    Check(
        Interruptible(session_, [=, s = session_, name = name_, loss = loss_] {
          return train::WithoutRootnessCheck(s->model, [&] {
            return Compile(*s, name, loss, rule, rate.tensor, *made);
          });
        }));
    SetCode(std::move(*made), whole.inputs);
    step_ = StepNumber();
  }

  void Rewrite(const std::string& script) override {
    routine_.emplace(
        Check(DoUnlocked(*session_, [&]() -> absl::StatusOr<Routine> {
          OCANNL_RETURN_IF_ERROR(ReadLast());
          return Rewritten(script);
        })));
    step_ = StepNumber();
  }

 private:
  absl::Status RunOnce(const std::vector<ArrayView>& views,
                       int64_t count) override {
    OCANNL_RETURN_IF_ERROR(Write(views));
    if (step_) OCANNL_RETURN_IF_ERROR(step_->Set(count));
    return routine_->Run();
  }

  absl::StatusOr<double> LossValue() const override {
    NdArray cell(loss_dtype_, {});
    OCANNL_RETURN_IF_ERROR(routine_->context().Use(
        loss_name_, [&](absl::Span<const std::byte> bytes) {
          std::memcpy(cell.data(), bytes.data(), cell.bytes());
          return absl::OkStatus();
        }));
    return cell.AsDouble(0);
  }

  absl::StatusOr<std::vector<Array>> State() override {
    return train::StateArrays(session_->model, loss_, {&routine_->program()});
  }

  static absl::Status Compile(Session& s, const std::string& name, Tensor loss,
                              const absl::StatusOr<UpdateRule>& rule,
                              Tensor rate, Compiled& made) {
    train::Model& model = s.model;
    OCANNL_ASSIGN_OR_RETURN(
        const std::optional<train::LossScale> scale,
        train::LossScaleFor(s.dtype.value_or(DType::kF32), model));
    OCANNL_ASSIGN_OR_RETURN(
        Assignments gradient,
        train::GradUpdate(model, loss, {.scaled_by = train::TensorOf(scale)}));
    const std::vector<train::StateUpdate> updates = UpdatesThrough(s, loss);
    OCANNL_ASSIGN_OR_RETURN(UpdateCode states,
                            train::UpdateStates(model, updates));
    OCANNL_ASSIGN_OR_RETURN(
        UpdateCode code,
        train::ScaledRuleUpdate(model, train::Parameters(model, loss), rate,
                                rule, scale));
    for (const train::StateUpdate& update : updates) {
      OCANNL_ASSIGN_OR_RETURN(
          s.context, train::RunMissingInit(model, update.value, s.context));
    }
    OCANNL_ASSIGN_OR_RETURN(
        s.context,
        train::RunMissingInit(model, loss, s.context, std::move(code.init)));
    made.code =
        train::Sequence(name, {std::move(gradient), std::move(states.update),
                               std::move(code.update)});
    OCANNL_ASSIGN_OR_RETURN(made.routine, ToRoutine(s.context, made.code, {}));
    return absl::OkStatus();
  }

  Tensor loss_;
  // When the code was made. Runs do not read the graph, which another thread
  // may change meanwhile.
  std::string loss_name_;
  DType loss_dtype_;
  std::optional<StaticRef> step_;
};

}  // namespace

std::shared_ptr<Step> MakeStep(const SessionPtr& session,
                               const ShardOfStep& whole,
                               const absl::StatusOr<UpdateRule>& rule,
                               const Node& rate) {
  return std::make_shared<StepOfOne>(session, whole, rule, rate);
}

std::vector<train::StateUpdate> UpdatesThrough(const Session& session,
                                               Tensor loss) {
  const std::vector<TensorId> order =
      TopologicalOrder(session.model.graph, {loss.id}, false);
  const absl::flat_hash_set<TensorId> computed(order.begin(), order.end());
  std::vector<train::StateUpdate> updates;
  for (size_t k = 0; k < session.training.updates.size(); ++k) {
    if (computed.contains(session.updated_with[k])) {
      updates.push_back(session.training.updates[k]);
    }
  }
  return updates;
}

std::optional<std::vector<py::object>> Step::ValuesOf(
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

std::shared_ptr<Loss> Step::Run(const std::shared_ptr<Step>& step,
                                const std::vector<py::object>& values) {
  step->session_->CheckProcess();
  const auto loss = std::make_shared<Loss>();
  Check(step->run_pace_.Do(step->session_,
                           [step, loss, views = step->ViewsOf(values)] {
                             return step->RunLocked(views, loss);
                           }));
  return loss;
}

double Step::Read(const std::shared_ptr<Step>& step,
                  const std::shared_ptr<Loss>& loss) {
  Check(step->read_pace_.Do(step->session_,
                            [=] { return step->ReadLocked(*loss); }));
  return *loss->value;
}

void Step::set_count(int64_t count) {
  if (count < 0) Raise("the number of steps is 0 or more");
  count_ = count;
}

absl::StatusOr<std::vector<Array>> Step::SavedArrays() {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Array> arrays, State());
  arrays.push_back({.name = kSteps, .dtype = DType::kI64, .dims = {}});
  return arrays;
}

void Step::Save(const std::string& path) {
  Check(DoUnlocked(*session_, [&]() -> absl::Status {
    OCANNL_ASSIGN_OR_RETURN(const std::vector<Array> arrays, SavedArrays());
    OCANNL_RETURN_IF_ERROR(session_->context.Write(
        kSteps, NdArray::Of<int64_t>({}, {count_}), Context::Unused::kIsLeft));
    return train::SaveParams(path, arrays, session_->context);
  }));
}

void Step::Load(const std::string& path) {
  const NdArray count =
      Check(DoUnlocked(*session_, [&]() -> absl::StatusOr<NdArray> {
        OCANNL_ASSIGN_OR_RETURN(const std::vector<Array> arrays, SavedArrays());
        OCANNL_RETURN_IF_ERROR(
            train::RestoreParams(path, arrays, session_->context,
                                 {.layout = train::FileLayout::kOcannl}));
        return session_->context.Read(kSteps);
      }));
  count_ = count.values<int64_t>()[0];
}

absl::Status Step::RunLocked(const std::vector<ArrayView>& views,
                             const std::shared_ptr<Loss>& loss) {
  if (last_.use_count() > 1) OCANNL_RETURN_IF_ERROR(ReadLast());
  OCANNL_RETURN_IF_ERROR(RunOnce(views, count_));
  ++count_;
  last_ = loss;
  return absl::OkStatus();
}

absl::Status Step::ReadLast() {
  return last_ == nullptr ? absl::OkStatus() : ReadLocked(*last_);
}

absl::Status Step::ReadLocked(Loss& loss) const {
  if (loss.value) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(loss.value, LossValue());
  return absl::OkStatus();
}

namespace {

// What a step returns: it keeps the step alive until the number is read.
struct LossHandle {
  std::shared_ptr<Step> step;
  std::shared_ptr<Loss> loss;

  double value() const { return Step::Read(step, loss); }
};

}  // namespace

void BindSteps(py::module_& module) {
  py::class_<LossHandle>(module, "Loss")
      .def("__float__", &LossHandle::value)
      .def("__repr__", [](const LossHandle& loss) {
        return absl::StrCat("ocannl.Loss(", loss.value(), ")");
      });

  using Shard = std::pair<Node, CompiledCode::Inputs>;
  py::class_<Step, CompiledCode, std::shared_ptr<Step>>(module, "Step")
      .def(py::init([](const SessionPtr& session, const Shard& whole,
                       const Rule& rule, const Node& rate) {
        return MakeStep(session, {whole.first, whole.second}, rule.rule, rate);
      }))
      .def(py::init([](const SessionPtr& session,
                       const std::vector<Shard>& shards,
                       const std::vector<std::string>& divided, bool is_sum,
                       const Rule& rule, const Node& rate) {
        std::vector<ShardOfStep> parts;
        for (const auto& [loss, inputs] : shards)
          parts.push_back({loss, inputs});
        return MakeShardedStep(session, parts, divided, is_sum, rule.rule,
                               rate);
      }))
      .def("run",
           [](const std::shared_ptr<Step>& step,
              const py::dict& inputs) -> py::object {
             const std::optional<std::vector<py::object>> values =
                 step->ValuesOf(inputs);
             if (!values) return py::none();
             return py::cast(LossHandle{step, Step::Run(step, *values)});
           })
      .def_property("count", &Step::count, &Step::set_count)
      .def("rewrite", &Step::Rewrite)
      .def("save", &Step::Save)
      .def("load", &Step::Load);
}

}  // namespace ocannl::python
