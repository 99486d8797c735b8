// SPDX-License-Identifier: Apache-2.0
#include "python/native/step.h"

#include <pybind11/stl.h>

#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
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
        loss_name_(loss_.node().name) {
    session_->CheckProcess();
    Session& s = *session_;
    absl::StatusOr<Routine> routine = absl::UnknownError("");
    {
      const Unlocked unlocked(s);
      // The code of another step may have computed some of these tensors.
      routine = train::WithoutRootnessCheck(
          s.model, [&] { return Compile(s, rule, rate); });
    }
    SetRoutine(Check(std::move(routine)), whole.inputs);
    SetKeys();
    step_ = StepNumber();
  }

  void Rewrite(const std::string& script) override {
    const std::lock_guard working(session_->working);
    Check(ReadLast());
    routine_.emplace(Check(Rewritten(script)));
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
    NdArray cell(loss_.node().dtype, {});
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

  absl::StatusOr<Routine> Compile(Session& s,
                                  const absl::StatusOr<UpdateRule>& rule,
                                  const Node& rate) {
    train::Model& model = s.model;
    OCANNL_ASSIGN_OR_RETURN(Assignments gradient,
                            train::GradUpdate(model, loss_));
    const std::vector<train::StateUpdate> updates = UpdatesThrough(s, loss_);
    OCANNL_ASSIGN_OR_RETURN(UpdateCode states,
                            train::UpdateStates(model, updates));
    OCANNL_ASSIGN_OR_RETURN(UpdateCode code,
                            train::RuleUpdate(model, loss_, rate.tensor, rule));
    for (const train::StateUpdate& update : updates) {
      OCANNL_ASSIGN_OR_RETURN(
          s.context, train::RunMissingInit(model, update.value, s.context));
    }
    OCANNL_ASSIGN_OR_RETURN(
        s.context,
        train::RunMissingInit(model, loss_, s.context, std::move(code.init)));
    code_ =
        train::Sequence(name_, {std::move(gradient), std::move(states.update),
                                std::move(code.update)});
    return ToRoutine(s.context, code_, {});
  }

  Tensor loss_;
  std::string loss_name_;  // when the code was made
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

std::shared_ptr<Loss> Step::Run(const std::vector<py::object>& values) {
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

double Step::Read(Loss& loss) {
  absl::Status status;
  {
    const Unlocked unlocked(*session_);
    status = ReadLocked(loss);
  }
  Check(status);
  return *loss.value;
}

void Step::set_count(int64_t count) {
  if (count < 0) Raise("the number of steps is 0 or more");
  count_ = count;
}

void Step::SetKeys() {
  keys_.clear();
  for (const Slot& slot : slots_) keys_.emplace_back(slot.key);
}

std::vector<Array> Step::SavedArrays() {
  std::vector<Array> arrays = Check(State());
  arrays.push_back({.name = kSteps, .dtype = DType::kI64, .dims = {}});
  return arrays;
}

void Step::Save(const std::string& path) {
  const std::lock_guard working(session_->working);
  Check(session_->context.Write(kSteps, NdArray::Of<int64_t>({}, {count_}),
                                Context::Unused::kIsLeft));
  Check(train::SaveParams(path, SavedArrays(), session_->context));
}

void Step::Load(const std::string& path) {
  const std::lock_guard working(session_->working);
  Check(train::RestoreParams(path, SavedArrays(), session_->context,
                             {.layout = train::FileLayout::kOcannl}));
  count_ = Check(session_->context.Read(kSteps)).values<int64_t>()[0];
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

  double value() const { return step->Read(*loss); }
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
             return py::cast(LossHandle{step, step->Run(*values)});
           })
      .def_property("count", &Step::count, &Step::set_count)
      .def("rewrite", &Step::Rewrite)
      .def("save", &Step::Save)
      .def("load", &Step::Load);
}

}  // namespace ocannl::python
