// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/session.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/eager/axes.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {
namespace {

constexpr char kStepsDone[] = "session_steps_done";

}  // namespace

Session::Session(const Backend* backend, const SessionOptions& options)
    : Recorder({.seed = options.seed, .on_change = options.on_change}),
      options_(options),
      device_("session", backend),
      stream_(&device_),
      context_(&stream_) {
  set_trains(options.track_gradients);
}

Session::~Session() {
  if (params_) params_->Detach();
}

Ref Session::UseParam(size_t k) {
  return AddLeaf(kParam,
                 {.number = static_cast<int64_t>(k),
                  .requires_grad = params_->requires_grad(k),
                  .dtype = params_->like(k).dtype(),
                  .dims = params_->like(k).dims()},
                 {.array = nullptr, .index = 0, .name = params_->name(k)});
}

Ref Session::UseInput(size_t number, const TrainerInput& input) {
  const auto args = static_cast<int64_t>(used_.size());
  if (const auto* index = std::get_if<Index>(&input.value())) {
    if (index->value < 0 || index->value >= index->range) {
      return Fail(absl::OutOfRangeError(
          absl::StrCat("input ", number, ": ", index->value, " is not in [0, ",
                       index->range, ")")));
    }
    return AddLeaf(kIndex, {.number = args, .range = index->range},
                   {.array = nullptr, .index = index->value, .name = ""});
  }
  const auto& array = std::get<std::shared_ptr<const NdArray>>(input.value());
  if (array == nullptr || array->size() == 0) {
    return Fail(UserError("input ", number, " has no cells"));
  }
  return AddLeaf(
      kInput, {.number = args, .dtype = array->dtype(), .dims = array->dims()},
      {.array = array, .index = 0, .name = ""});
}

absl::Status Session::UseParams(const ParamList& params) {
  if (params_) {
    if (params_->Is(params)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "the session has other parameters; all steps use the same list");
  }
  OCANNL_RETURN_IF_ERROR(params.Attach(context_));
  params_ = params;
  return absl::OkStatus();
}

absl::Status Session::Use(const ParamList& params,
                          absl::Span<const TrainerInput> inputs) {
  if (!params_ || !params_->Is(params)) {
    OCANNL_RETURN_IF_ERROR(UseParams(params));
  }
  if (next_ != 0) {
    return absl::FailedPreconditionError("Use comes first in a step, once");
  }
  sets_ = params.sets();
  used_.resize(params.num_args() + inputs.size());
  // Mostly they are those of the step before.
  const size_t repeated = Repeated(inputs);
  const uint64_t epoch = epoch_;  // a local value: the loop becomes vectors
  for (size_t k = 0; k < repeated; ++k) {
    used_[k] = {static_cast<uint32_t>(k), epoch};
  }
  next_ = static_cast<uint32_t>(repeated);
  for (size_t k = repeated; k < used_.size(); ++k) {
    const size_t input = k - params.num_args();
    used_[k] =
        k < params.num_args() ? UseParam(k) : UseInput(input, inputs[input]);
  }
  return status();
}

size_t Session::Repeated(absl::Span<const TrainerInput> inputs) {
  size_t k = params_->num_args();
  if (tape() == nullptr || tape()->num_params() != k ||
      tape()->num_args() != used_.size() || calls_[0].trains != trains()) {
    return 0;
  }
  for (const TrainerInput& input : inputs) {
    LeafValue& leaf = tape()->leaf(static_cast<uint32_t>(k));
    if (const auto* index = std::get_if<Index>(&input.value())) {
      const bool fits = calls_[k].op == &kIndex &&
                        TypeOf(calls_[k]).range == index->range &&
                        index->value >= 0 && index->value < index->range;
      if (!fits) break;
      leaf.index = index->value;
    } else {
      const auto& array =
          std::get<std::shared_ptr<const NdArray>>(input.value());
      if (array == nullptr || leaf.array != array || calls_[k].op != &kInput) {
        break;
      }
    }
    ++k;
  }
  return k;
}

absl::Status Session::OnRecord(uint32_t slot) {
  OCANNL_RETURN_IF_ERROR(TakeParams(slot));
  if (!options_.is_eager) return absl::OkStatus();
  return ComputeUpTo(slot);
}

absl::Status Session::ComputeUpTo(uint32_t slot) {
  std::unique_ptr<OpByOp>& values = compiled_[tape()->number()].values;
  if (values == nullptr) {
    values = std::make_unique<OpByOp>(tape(), &stream_);
  }
  return values->ComputeUpTo(slot, epoch_, params_ ? &*params_ : nullptr,
                             step_);
}

absl::Status Session::CheckStep(Ref x) const {
  OCANNL_RETURN_IF_ERROR(Check(x));
  if (!is_over() && (!params_ || params_->sets() == sets_)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "the parameters are others than when the step began; Begin the next one, "
      "or read UpdatedLoss");
}

absl::StatusOr<NdArray> Session::Value(Ref x) {
  OCANNL_RETURN_IF_ERROR(CheckStep(x));
  if (!options_.is_eager) {
    return absl::FailedPreconditionError(
        "a loss that is compiled has no values; use an eager session");
  }
  OCANNL_RETURN_IF_ERROR(ComputeUpTo(x.slot()));
  return compiled_[tape()->number()].values->Read(x.slot());
}

absl::Status Session::CheckLoss(Ref loss) const {
  OCANNL_RETURN_IF_ERROR(CheckStep(loss));
  const Dims& dims = tape()->dims(loss.slot());
  if (NumElements(dims) == 1) return absl::OkStatus();
  return UserError("the loss has shape ", DimsText(dims),
                   "; it must have one cell, as Sum makes it");
}

absl::Status Session::WriteLeaves() {
  Compiled& compiled = compiled_[tape()->number()];
  for (uint32_t slot = 0; slot < tape()->calls().size(); ++slot) {
    const std::shared_ptr<const NdArray>& array = tape()->leaf(slot).array;
    if (array == nullptr) continue;
    std::shared_ptr<const NdArray>& written = compiled.written[slot];
    if (written == array) continue;
    OCANNL_RETURN_IF_ERROR(context_.Write(tape()->DataName(slot), *array,
                                          Context::Unused::kIsLeft));
    written = array;
  }
  leaves_changed_ = false;
  return absl::OkStatus();
}

void Session::OnDrop(const Tape& tape) {
  const auto found = compiled_.find(tape.number());
  if (last_.tape == tape.number()) last_ = {};
  if (found == compiled_.end()) return;
  for (const auto& [slot, array] : found->second.written) {
    context_.Forget(tape.DataName(slot));
  }
  for (const auto& [key, linked] : found->second.linked) {
    context_.Forget(linked->loss);
  }
  compiled_.erase(found);
}

absl::Status Session::Run(Linked& linked) {
  if (leaves_changed_) OCANNL_RETURN_IF_ERROR(WriteLeaves());
  if (params_) OCANNL_RETURN_IF_ERROR(params_->Upload());
  return linked.routine.Run(*tape(), step_);
}

absl::StatusOr<double> Session::LossValue(Ref loss) {
  OCANNL_RETURN_IF_ERROR(CheckLoss(loss));
  OCANNL_ASSIGN_OR_RETURN(
      Linked* const linked,
      FindOrLink(loss, "forward",
                 [&](Tape& tape, Tensor result) -> absl::StatusOr<Linked> {
                   OCANNL_ASSIGN_OR_RETURN(const Assignments code,
                                           Forward(tape.model(), result));
                   return LinkCode(tape, code, result);
                 }));
  OCANNL_RETURN_IF_ERROR(Run(*linked));
  OCANNL_ASSIGN_OR_RETURN(const NdArray value, context_.Read(linked->loss));
  return value.AsDouble(0);
}

absl::Status Session::WriteRate(double rate) {
  if (rate_ == rate) return absl::OkStatus();
  OCANNL_RETURN_IF_ERROR(CheckRate(rate));
  OCANNL_RETURN_IF_ERROR(context_.Write(
      kRateName, NdArray::Of<float>({}, {static_cast<float>(rate)}),
      Context::Unused::kIsLeft));
  rate_ = rate;
  return absl::OkStatus();
}

void Session::set_schedule(RateSchedule schedule) {
  schedule_ = std::move(schedule);
  DropUpdates("scheduled ");
}

void Session::DropUpdates(absl::string_view kind) {
  last_.linked = nullptr;
  for (auto& [tape, compiled] : compiled_) {
    absl::erase_if(compiled.linked, [&](const auto& linked) {
      return absl::StrContains(linked.first, absl::StrCat(kind, "update "));
    });
  }
}

absl::Status Session::LinkLast(Ref loss,
                               const std::shared_ptr<const UpdateRule>& rule,
                               bool has_rate) {
  OCANNL_RETURN_IF_ERROR(CheckLoss(loss));
  OCANNL_ASSIGN_OR_RETURN(
      Linked* const linked,
      FindOrLink(loss, absl::StrCat(has_rate ? "" : "scheduled ", KeyOf(*rule)),
                 [&](Tape& tape, Tensor result) {
                   return LinkUpdate(tape, result, *rule, has_rate);
                 }));
  last_ = {tape()->number(), loss.slot(), rule, has_rate, linked};
  return absl::OkStatus();
}

absl::Status Session::Update(Ref loss,
                             const std::shared_ptr<const UpdateRule>& rule,
                             std::optional<double> rate) {
  if (!IsOfStep(loss)) return Check(loss);
  if (rule == nullptr) {
    return UserError(
        "the rule of Update is null; give one, such as that of Sgd()");
  }
  const bool is_last = last_.linked != nullptr &&
                       last_.tape == tape()->number() &&
                       last_.loss == loss.slot() && last_.rule == rule &&
                       last_.has_rate == rate.has_value();
  if (!is_last) OCANNL_RETURN_IF_ERROR(CheckTracked());
  if (!params_) {
    return absl::FailedPreconditionError(
        "the step has no parameters; Use comes first");
  }
  if (is_over() || params_->sets() != sets_) return CheckStep(loss);
  if (rate) OCANNL_RETURN_IF_ERROR(WriteRate(*rate));
  if (!is_last) OCANNL_RETURN_IF_ERROR(LinkLast(loss, rule, rate.has_value()));
  absl::Status run = Run(*last_.linked);
  if (!run.ok()) return run;
  ++step_;
  params_->SetDeviceNewer();
  EndStep();
  return run;
}

absl::Status Session::Sync() {
  stream_.Sync();
  return device_.backend().RunStatus();
}

absl::StatusOr<double> Session::UpdatedLoss() const {
  if (last_.linked == nullptr) {
    return absl::FailedPreconditionError(
        "there was no update since the schedule was set, values were restored, "
        "or the session began");
  }
  OCANNL_ASSIGN_OR_RETURN(const NdArray loss,
                          context_.Read(last_.linked->loss));
  return loss.AsDouble(0);
}

std::vector<Array> Session::SavedArrays() const {
  std::vector<Array> arrays;
  for (size_t k = 0; k < params_->size(); ++k) {
    arrays.push_back({.name = params_->name(k),
                      .dtype = params_->like(k).dtype(),
                      .dims = params_->like(k).dims()});
  }
  arrays.push_back({.name = kStepsDone, .dtype = DType::kI64, .dims = {}});
  for (const auto& [name, array] : states_) arrays.push_back(array);
  return arrays;
}

absl::Status Session::Save(const std::string& path) {
  if (!params_) {
    return absl::FailedPreconditionError("there are no parameters yet");
  }
  OCANNL_RETURN_IF_ERROR(params_->Upload());
  OCANNL_RETURN_IF_ERROR(context_.Write(
      kStepsDone, NdArray::Of<int64_t>({}, {step_}), Context::Unused::kIsLeft));
  return SaveParams(path, SavedArrays(), context_);
}

absl::Status Session::Restore(const std::string& path, const DataLimit& limit) {
  if (!params_) {
    return absl::FailedPreconditionError("there are no parameters yet");
  }
  std::vector<Array> arrays = SavedArrays();
  arrays.resize(params_->size() + 1);
  OCANNL_ASSIGN_OR_RETURN(const std::vector<ArrayEntry> entries,
                          ListArrays(path));
  std::vector<Array> states;
  for (const ArrayEntry& entry : entries) {
    auto is_it = [&](const Array& array) { return array.name == entry.name; };
    if (!entry.dtype || std::any_of(arrays.begin(), arrays.end(), is_it)) {
      continue;
    }
    states.push_back(
        {.name = entry.name, .dtype = *entry.dtype, .dims = entry.dims});
  }
  OCANNL_RETURN_IF_ERROR(CheckLimit(path, states, limit));
  arrays.insert(arrays.end(), states.begin(), states.end());
  OCANNL_ASSIGN_OR_RETURN(const std::vector<NdArray> done,
                          LoadArrays(path, {kStepsDone}, limit));
  if (done[0].size() != 1 || done[0].dtype() != DType::kI64 ||
      done[0].values<int64_t>()[0] < 0) {
    return UserError(path, ": ", kStepsDone, " is no number of steps");
  }
  OCANNL_RETURN_IF_ERROR(
      RestoreParams(path, arrays, context_, {.layout = FileLayout::kOcannl}));
  // Those of rules that the file does not have begin again.
  states_.clear();
  DropUpdates("");
  for (Array& state : states) states_.emplace(state.name, std::move(state));
  step_ = done[0].values<int64_t>()[0];
  rate_ = std::nullopt;
  rule_params_.clear();
  std::vector<NdArray> values;
  for (size_t k = 0; k < params_->size(); ++k) {
    OCANNL_ASSIGN_OR_RETURN(NdArray value, context_.Read(params_->name(k)));
    values.push_back(std::move(value));
  }
  return params_->Set(values);
}

}  // namespace ocannl::train
