// SPDX-License-Identifier: Apache-2.0
//
// Steps of a training, predictions, and the parameters that they share.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/jit/explain_x86.h"
#include "ocannl/jit/x86_backend.h"
#include "ocannl/tiers/profile_report.h"
#include "ocannl/train/graph/params_hash.h"
#include "python/native/arrays.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using train::UpdateCode;
using train::UpdateRule;

using SessionPtr = std::shared_ptr<Session>;

// An array that the caller of a routine gives.
struct Slot {
  std::string name;  // of the array
  std::string key;   // for the user
  std::string what;  // the key in messages
  DType dtype;
  Dims dims;
};

std::vector<Slot> SlotsOf(
    const LoopProgram& program,
    const std::vector<std::pair<std::string, Node>>& inputs) {
  std::vector<Slot> slots;
  for (const auto& [key, node] : inputs) {
    const std::string& name = node.tensor.node().name;
    const auto buffer = absl::c_find_if(
        program.buffers,
        [&](const loop_ir::Buffer& b) { return b.name == name; });
    if (buffer == program.buffers.end()) continue;  // the code does not read it
    slots.push_back(
        {name, key, absl::StrCat("`", key, "`"), buffer->dtype, buffer->dims});
  }
  return slots;
}

// `values` as the arrays of `slots`, in that order.
std::vector<ArrayView> ViewsOf(const std::vector<Slot>& slots,
                               const std::vector<py::object>& values) {
  std::vector<ArrayView> views;
  views.reserve(slots.size());
  for (size_t k = 0; k < slots.size(); ++k) {
    const Slot& slot = slots[k];
    const ArrayView& view =
        views.emplace_back(ViewOf(values[k], slot.dtype, slot.what));
    if (!absl::c_equal(view.dims, slot.dims)) {
      Raise(absl::StrCat(slot.what, " has the shape (",
                         absl::StrJoin(view.dims, ", "), "), but (",
                         absl::StrJoin(slot.dims, ", "), ") is needed"));
    }
  }
  return views;
}

// Copies `views` into the arrays of `slots`.
absl::Status Write(const Context& context, const std::vector<Slot>& slots,
                   const std::vector<ArrayView>& views) {
  for (size_t k = 0; k < slots.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(
        context.Fill(slots[k].name, [&](absl::Span<std::byte> bytes) {
          views[k].CopyTo(bytes.data());
          return absl::OkStatus();
        }));
  }
  return absl::OkStatus();
}

// Sets the number of the step where the routine depends on it.
std::optional<StaticRef> StepOf(const Session& session,
                                const Routine& routine) {
  const std::string& name =
      session.model.graph.statics()[session.training.step].name;
  const absl::StatusOr<StaticRef> step = routine.Static(name);
  return step.ok() ? std::optional(*step) : std::nullopt;
}

// The stages of `code` as text, by name.
std::map<std::string, std::string> Explain(const Assignments& code) {
  const Explanation explained = Check(ExplainCode(code, {}));
  std::map<std::string, std::string> stages;
  for (const StageText& stage : explained.stages) {
    stages[stage.stage] = stage.text;
  }
  const std::optional<jit::Isa> isa = jit::HostIsa();
  if (!isa) return stages;
  const LoopProgram origins = Check(ProgramWithOrigins(code, {}));
  for (const StageText& stage :
       {jit::ExplainScript(explained.program, origins, *isa),
        jit::ExplainSchedule(explained.program, *isa),
        Check(jit::ExplainX86(explained.program, *isa))}) {
    stages[stage.stage] = stage.text;
  }
  return stages;
}

// The loss of one step. It is read when it is asked for, or before the next
// step takes its place.
struct Loss {
  std::optional<double> value;
};

class Step {
 public:
  Step(SessionPtr session, Node loss, const absl::StatusOr<UpdateRule>& rule,
       const Node& rate,
       const std::vector<std::pair<std::string, Node>>& inputs)
      : session_(std::move(session)),
        loss_(loss),
        loss_name_(loss.tensor.node().name) {
    session_->CheckProcess();
    Session& s = *session_;
    const std::lock_guard working(s.working);
    // The code of another step may have computed some of these tensors.
    const ComputedBy before = std::exchange(s.model.computed_by, {});
    absl::StatusOr<Routine> routine = Compile(s, rule, rate);
    s.model.computed_by = before;
    routine_.emplace(Check(std::move(routine)));
    step_ = StepOf(s, *routine_);
    slots_ = SlotsOf(routine_->program(), inputs);
    for (const Slot& slot : slots_) keys_.emplace_back(slot.key);
  }

  const std::vector<Slot>& slots() const { return slots_; }

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
    const std::vector<ArrayView> views = ViewsOf(slots_, values);
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

  std::map<std::string, std::string> ExplainStages() const {
    return Explain(code_);
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
    Check(train::RestoreParams(path, SavedArrays(), session_->context));
    count_ = Check(session_->context.Read(kSteps)).values<int64_t>()[0];
  }

 private:
  static constexpr char kSteps[] = "steps_done";

  absl::Status RunLocked(const std::vector<ArrayView>& views,
                         const std::shared_ptr<Loss>& loss) {
    if (last_ != nullptr && last_.use_count() > 1) {
      OCANNL_RETURN_IF_ERROR(ReadLocked(*last_));
    }
    OCANNL_RETURN_IF_ERROR(Write(routine_->context(), slots_, views));
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
    absl::flat_hash_set<TensorId> computed;
    for (TensorId id : order) {
      if (!OperandsOf(s.model.graph[id].source).empty()) computed.insert(id);
    }
    std::vector<train::StateUpdate> updates;
    for (const train::StateUpdate& update : s.training.updates) {
      const auto needs =
          TopologicalOrder(s.model.graph, {update.value.id}, false);
      if (absl::c_any_of(needs,
                         [&](TensorId id) { return computed.contains(id); })) {
        updates.push_back(update);
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
        train::Sequence("step", {std::move(gradient), std::move(states.update),
                                 std::move(code.update)});
    return ToRoutine(s.context, code_, {});
  }

  SessionPtr session_;
  Node loss_;
  std::string loss_name_;  // when the code was made
  Assignments code_;
  std::optional<Routine> routine_;
  std::optional<StaticRef> step_;
  std::vector<Slot> slots_;
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

class Forward {
 public:
  Forward(SessionPtr session, const std::vector<Node>& outputs,
          const std::vector<std::pair<std::string, Node>>& inputs)
      : session_(std::move(session)), outputs_(outputs) {
    session_->CheckProcess();
    Session& s = *session_;
    const std::lock_guard working(s.working);
    for (Node& output : outputs_) {
      const TensorNode& node = output.tensor.node();
      // The code of a leaf is empty: that of a copy is not.
      if (OperandsOf(node.source).empty()) {
        output.tensor = Stretch(output.tensor);
      }
      names_.push_back(output.tensor.node().name);
    }
    const ComputedBy before = std::exchange(s.model.computed_by, {});
    absl::StatusOr<Routine> routine = Compile(s);
    s.model.computed_by = before;
    routine_.emplace(Check(std::move(routine)));
    if (std::optional<StaticRef> step = StepOf(s, *routine_)) {
      Check(step->Set(0));
    }
    slots_ = SlotsOf(routine_->program(), inputs);
  }

  const std::vector<Slot>& slots() const { return slots_; }

  std::vector<py::object> Run(const std::vector<py::object>& values) {
    session_->CheckProcess();
    const Context& context = routine_->context();
    const std::vector<ArrayView> views = ViewsOf(slots_, values);
    std::vector<NdArray> read;
    absl::Status status;
    {
      const Unlocked unlocked(*session_);
      status = Write(context, slots_, views);
      if (status.ok()) status = routine_->Run();
      for (const std::string& name : names_) {
        if (!status.ok()) break;
        absl::StatusOr<NdArray> array = context.Read(name);
        status = array.status();
        if (array.ok()) read.push_back(*std::move(array));
      }
    }
    Check(status);
    std::vector<py::object> arrays;
    for (NdArray& array : read) arrays.push_back(ToPython(std::move(array)));
    return arrays;
  }

  std::map<std::string, std::string> ExplainStages() const {
    return Explain(code_);
  }

 private:
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
    code_ = train::Sequence("predict", parts);
    return ToRoutine(s.context, code_, {});
  }

  SessionPtr session_;
  std::vector<Node> outputs_;
  std::vector<std::string> names_;  // theirs, when the code was made
  Assignments code_;
  std::optional<Routine> routine_;
  std::vector<Slot> slots_;
};

std::vector<std::pair<std::string, std::string>> Keys(
    const std::vector<Slot>& slots) {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const Slot& slot : slots) {
    keys.push_back({slot.key, std::string(Name(slot.dtype))});
  }
  return keys;
}

std::vector<Tensor> ParametersOf(Session& session) {
  std::vector<Tensor> parameters;
  Graph& graph = session.model.graph;
  for (TensorId id : graph.parameters()) {
    const auto& source = std::get<ParamSource>(graph[id].source);
    if (!source.is_input) parameters.push_back({&graph, id});
  }
  return parameters;
}

Tensor ParameterOf(Session& session, const std::string& name) {
  for (Tensor p : ParametersOf(session)) {
    if (p.node().name == name) return p;
  }
  throw py::key_error(name);
}

bool IsWritten(const Session& session, Tensor parameter) {
  const auto info = session.context.InfoOf(parameter.node().name);
  return info.ok() && info->written;
}

void SetParameter(Session& session, const std::string& name,
                  const py::object& values) {
  const Tensor p = ParameterOf(session, name);
  const auto shape = session.model.shapes.find(p.id);
  if (shape == session.model.shapes.end()) {
    Raise(absl::StrCat("the sizes of `", name, "` are not known yet: call ",
                       "train() or predict() first"));
  }
  NdArray array =
      ArrayOf(ViewOf(values, p.node().dtype, absl::StrCat("`", name, "`")));
  const Dims dims = shape->second.dims();
  if (array.dims() != dims) {
    Raise(absl::StrCat("`", name, "` has the shape (",
                       absl::StrJoin(dims, ", "), "), not (",
                       absl::StrJoin(array.dims(), ", "), ")"));
  }
  const std::lock_guard working(session.working);
  Check(session.context.Write(name, array, Context::Unused::kIsLeft));
}

py::object GetParameter(Session& session, const std::string& name) {
  const std::lock_guard working(session.working);
  const Tensor p = ParameterOf(session, name);
  if (!IsWritten(session, p)) {
    Raise(absl::StrCat("`", name, "` has no value yet: call train() or ",
                       "predict() first"));
  }
  return ToPython(Check(session.context.Read(name)));
}

std::vector<Array> WrittenArrays(Session& session) {
  std::vector<Array> arrays;
  for (Tensor p : ParametersOf(session)) {
    if (!IsWritten(session, p)) continue;
    for (Array& array : Check(train::ParamArrays(session.model, p))) {
      arrays.push_back(std::move(array));
    }
  }
  return arrays;
}

struct Rule {
  absl::StatusOr<UpdateRule> rule;
};

// A learning rate by the number of the step.
Node Rate(const SessionPtr& session, const std::string& kind, double first,
          double last, int64_t steps, int64_t warmup, const UserLine& where) {
  Graph& graph = session->model.graph;
  const int32_t step = session->training.step;
  if (kind == "constant") {
    Tensor rate = Number(graph, first, where);
    return Checked(session,
                   warmup > 0 ? train::Warmup(rate, step, warmup) : rate);
  }
  if (steps < 1) Raise("a schedule has 1 step or more");
  Tensor rate = kind == "cosine"
                    ? train::CosineRate(graph, step, first, last, steps)
                    : train::LinearRate(graph, step, first, last, steps);
  return Checked(session,
                 warmup > 0 ? train::Warmup(rate, step, warmup) : rate);
}

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
  module.def("ema", [](double decay) { return Rule{train::Ema(decay)}; });
  module.def("chain", [](const std::vector<Rule>& rules) {
    std::vector<UpdateRule> parts;
    for (const Rule& rule : rules) parts.push_back(Check(rule.rule));
    return Rule{train::Chain(parts)};
  });
}

void BindParameters(py::module_& module) {
  module.def("parameters", [](const SessionPtr& session) {
    std::vector<std::string> names;
    for (Tensor p : ParametersOf(*session)) names.push_back(p.node().name);
    return names;
  });
  module.def("get_parameter",
             [](const SessionPtr& session, const std::string& name) {
               return GetParameter(*session, name);
             });
  module.def(
      "set_parameter",
      [](const SessionPtr& session, const std::string& name,
         const py::object& values) { SetParameter(*session, name, values); });
  module.def("params_hash", [](const SessionPtr& session,
                               const std::vector<std::string>& names) {
    const std::lock_guard working(session->working);
    std::vector<Tensor> parameters;
    for (const std::string& name : names) {
      parameters.push_back(ParameterOf(*session, name));
    }
    return Check(train::ParamsHash(session->context, parameters));
  });
  module.def("save", [](const SessionPtr& session, const std::string& path) {
    const std::lock_guard working(session->working);
    Check(train::SaveParams(path, WrittenArrays(*session), session->context));
  });
  module.def("load", [](const SessionPtr& session, const std::string& path,
                        const std::map<std::string, std::string>& names,
                        bool allow_missing, bool allow_extra) {
    const std::lock_guard working(session->working);
    Check(train::RestoreParams(path, WrittenArrays(*session), session->context,
                               {.names = names,
                                .allow_missing = allow_missing,
                                .allow_extra = allow_extra}));
  });
}

}  // namespace

void BindTraining(py::module_& module) {
  BindRules(module);
  BindParameters(module);
  module.def("rate", &Rate);

  py::class_<LossHandle>(module, "Loss")
      .def("__float__", &LossHandle::value)
      .def("__repr__", [](const LossHandle& loss) {
        return absl::StrCat("ocannl.Loss(", loss.value(), ")");
      });

  py::class_<Step, std::shared_ptr<Step>>(module, "Step")
      .def(
          py::init([](const SessionPtr& session, const Node& loss,
                      const Rule& rule, const Node& rate,
                      const std::vector<std::pair<std::string, Node>>& inputs) {
            return std::make_shared<Step>(session, loss, rule.rule, rate,
                                          inputs);
          }))
      .def("keys", [](const Step& step) { return Keys(step.slots()); })
      .def("run",
           [](const std::shared_ptr<Step>& step,
              const py::dict& inputs) -> py::object {
             const std::optional<std::vector<py::object>> values =
                 step->ValuesOf(inputs);
             if (!values) return py::none();
             return py::cast(LossHandle{step, step->Run(*values)});
           })
      .def_property("count", &Step::count, &Step::set_count)
      .def("explain", &Step::ExplainStages)
      .def("save", &Step::Save)
      .def("load", &Step::Load);

  py::class_<Forward>(module, "Forward")
      .def(py::init<SessionPtr, const std::vector<Node>&,
                    const std::vector<std::pair<std::string, Node>>&>())
      .def("keys", [](const Forward& code) { return Keys(code.slots()); })
      .def("run", &Forward::Run)
      .def("explain", &Forward::ExplainStages);

  module.def("tier_report", [](const SessionPtr& session) {
    const std::lock_guard working(session->working);
    session->stream.Sync();
    return absl::StrCat(session->device.backend().Report(),
                        session->stream.Report());
  });
  module.def("profile", [] {
    return ProfileText(ProfileJson(Profile::OfProcess(), MeasuredRates()), 10);
  });
}

}  // namespace ocannl::python

PYBIND11_MODULE(_native, module) {
  module.doc() = "What ocannl's Python modules are made of; import ocannl.";
  ocannl::python::BindArrays(module);
  ocannl::python::BindTensors(module);
  ocannl::python::BindBlocks(module);
  ocannl::python::BindTraining(module);
}
