// SPDX-License-Identifier: Apache-2.0
#include "python/native/code.h"

#include <pybind11/stl.h>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/jit/explain_x86.h"
#include "ocannl/jit/x86_backend.h"
#include "ocannl/tiers/profile_report.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

// Profiles and reports tell programs apart by their names: "step", "step2".
std::string FreshName(const std::string& kind) {
  static auto* counts = new std::map<std::string, int>();
  const int count = ++(*counts)[kind];
  return count == 1 ? kind : absl::StrCat(kind, count);
}

// Why `dims` are not those of the slot, and what to do.
[[noreturn]] void RaiseShape(const Slot& slot, const ArrayView::Sizes& dims) {
  const bool has_batch =
      !dims.empty() && dims.size() == slot.dims.size() &&
      std::equal(dims.begin() + 1, dims.end(), slot.dims.begin() + 1);
  Raise(absl::StrCat(
      slot.what, " has the shape (", absl::StrJoin(dims, ", "), "), but (",
      absl::StrJoin(slot.dims, ", "), ") is needed",
      has_batch ? absl::StrCat("; give ", slot.dims[0],
                               " examples: only predictions take any batch")
                : ""));
}

// The optimised program, whose loops scripts name.
absl::StatusOr<LoopProgram> ProgramOf(const Assignments& code) {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, CompileProgram(code, {}));
  CountIterators(program);
  return program;
}

}  // namespace

CompiledCode::CompiledCode(SessionPtr session, const std::string& kind)
    : session_(std::move(session)), name_(FreshName(kind)) {}

void CompiledCode::SetCode(Compiled made, const Inputs& inputs) {
  code_ = std::move(made.code);
  routine_ = std::move(made.routine);
  SetSlots(routine_->program(), inputs);
}

void CompiledCode::SetSlots(const LoopProgram& program, const Inputs& inputs) {
  for (const auto& [key, node] : inputs) {
    const std::string& name = node.tensor.node().name;
    const auto buffer = absl::c_find_if(
        program.buffers,
        [&](const loop_ir::Buffer& b) { return b.name == name; });
    if (buffer == program.buffers.end()) continue;  // the code does not read it
    slots_.push_back(
        {name, key, absl::StrCat("`", key, "`"), buffer->dtype, buffer->dims});
    keys_.emplace_back(key);
  }
}

void CompiledCode::CheckIsOne() const {
  if (routine_) return;
  Raise(
      "a step of several shards has a program for each, which are not shown "
      "or tuned together; model.train(loss, optimiser) without shards has one");
}

std::vector<ArrayView> CompiledCode::ViewsOf(
    const std::vector<py::object>& values) const {
  std::vector<ArrayView> views;
  views.reserve(slots_.size());
  for (size_t k = 0; k < slots_.size(); ++k) {
    const Slot& slot = slots_[k];
    const ArrayView& view =
        views.emplace_back(ViewOf(values[k], slot.dtype, slot.what));
    if (!absl::c_equal(view.dims, slot.dims)) RaiseShape(slot, view.dims);
  }
  return views;
}

absl::Status CompiledCode::Write(const std::vector<ArrayView>& views) const {
  for (size_t k = 0; k < slots_.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(routine_->context().Fill(
        slots_[k].name, [&](absl::Span<std::byte> bytes) {
          views[k].CopyTo(bytes.data());
          return absl::OkStatus();
        }));
  }
  return absl::OkStatus();
}

std::optional<StaticRef> CompiledCode::StepNumber() const {
  const train::Model& model = session_->model;
  const std::string& name = model.graph.statics()[session_->training.step].name;
  const absl::StatusOr<StaticRef> step = routine_->Static(name);
  return step.ok() ? std::optional(*step) : std::nullopt;
}

std::map<std::string, std::string> CompiledCode::Explain() const {
  CheckIsOne();
  const Explanation explained = Check(ExplainCode(code_, {}));
  std::map<std::string, std::string> stages;
  for (const StageText& stage : explained.stages) {
    stages[stage.stage] = stage.text;
  }
  const std::optional<jit::Isa> isa = jit::HostIsa();
  if (!isa) return stages;
  const LoopProgram origins = Check(ProgramWithOrigins(code_, {}));
  for (const StageText& stage :
       {jit::ExplainScript(explained.program, origins, *isa),
        jit::ExplainSchedule(explained.program, *isa),
        Check(jit::ExplainX86(explained.program, *isa))}) {
    stages[stage.stage] = stage.text;
  }
  return stages;
}

std::string CompiledCode::ProfileText() const {
  CheckIsOne();
  if (!session_->profile) {
    Raise("no time is measured; make the model with profile=True");
  }
  const Unlocked unlocked(*session_);
  session_->stream.Sync();
  Profile own;
  for (const auto& program : Profile::OfProcess().programs()) {
    if (program->program == name_) own.Add(program);
  }
  return ocannl::ProfileText(ProfileJson(own, MeasuredRates()), 10);
}

std::string CompiledCode::ProgramText() const {
  CheckIsOne();
  return Print(Check(ProgramOf(code_)));
}

absl::StatusOr<Routine> CompiledCode::Rewritten(
    const std::string& script) const {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, ProgramOf(code_));
  OCANNL_ASSIGN_OR_RETURN(program,
                          rewrite::RunScript(std::move(program), script));
  return session_->context.CompileAndLink(std::move(program));
}

void BindCode(py::module_& module) {
  py::class_<CompiledCode, std::shared_ptr<CompiledCode>>(module, "Code")
      .def("keys", &CompiledCode::keys)
      .def("explain", &CompiledCode::Explain)
      .def("profile", &CompiledCode::ProfileText)
      .def("program", &CompiledCode::ProgramText);
  module.def("tier_report", [](const SessionPtr& session) {
    const Unlocked unlocked(*session);
    session->stream.Sync();
    return absl::StrCat(session->device.backend().Report(),
                        session->stream.Report());
  });
  module.def("profile", [] {
    return ProfileText(ProfileJson(Profile::OfProcess(), MeasuredRates()), 10);
  });
  module.def("tiers", &AvailableTiers);
  module.def("num_devices",
             [](const std::string& tier) { return Check(NumDevices(tier)); });
}

}  // namespace ocannl::python
