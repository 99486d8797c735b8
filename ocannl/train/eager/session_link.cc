// SPDX-License-Identifier: Apache-2.0
//
// The half of a session that makes routines of tapes.
#include <algorithm>
#include <bit>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/eager/axes.h"
#include "ocannl/train/eager/session.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/run/run.h"

namespace ocannl::train {

std::string Session::KeyOf(const UpdateRule& rule) {
  const absl::btree_map<std::string, double> numbers(rule.numbers.begin(),
                                                     rule.numbers.end());
  std::string key = absl::StrCat("update ", rule.text);
  for (const auto& [name, value] : numbers) {
    absl::StrAppend(&key, "\n", name, "=",
                    absl::Hex(std::bit_cast<uint64_t>(value)));
  }
  return key;
}

absl::StatusOr<Session::Linked*> Session::FindOrLink(Ref loss,
                                                     const std::string& kind,
                                                     Link link) {
  std::unique_ptr<Linked>& linked =
      compiled_[tape()->number()].linked[absl::StrCat(loss.slot(), " ", kind)];
  if (linked != nullptr) return linked.get();
  OCANNL_ASSIGN_OR_RETURN(const std::unique_ptr<Tape> copy,
                          tape()->CopyUpTo(loss.slot()));
  Tensor result = copy->tensor(loss.slot());
  if (!copy->IsComputed(loss.slot())) result = ocannl::Reshape(result, Shape());
  result = Named(result, absl::StrCat("session_loss", num_linked_++));
  OCANNL_ASSIGN_OR_RETURN(Linked made, link(*copy, result));
  linked = std::make_unique<Linked>(std::move(made));
  return linked.get();
}

absl::StatusOr<Session::Linked> Session::LinkCode(Tape& tape,
                                                  const Assignments& code,
                                                  Tensor loss) {
  OCANNL_ASSIGN_OR_RETURN(TapeRoutine routine,
                          TapeRoutine::Link(tape, code, context_));
  return Linked{
      .routine = std::move(routine), .loss = loss.node().name, .grads = {}};
}

absl::Status Session::CheckTracked() const {
  if (options_.track_gradients) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the session does not track gradients; set track_gradients");
}

absl::StatusOr<Session::LossAndGradients> Session::Gradients(
    Ref loss, absl::Span<const Ref> of) {
  OCANNL_RETURN_IF_ERROR(CheckLoss(loss));
  OCANNL_RETURN_IF_ERROR(CheckTracked());
  std::string kind = "gradients";
  std::vector<NdArray> zeros;
  for (Ref x : of) {
    OCANNL_RETURN_IF_ERROR(Check(x));
    absl::StrAppend(&kind, " ", x.slot());
    zeros.emplace_back(tape()->dtype(x.slot()), tape()->dims(x.slot()));
  }
  OCANNL_ASSIGN_OR_RETURN(
      Linked* const linked,
      FindOrLink(loss, kind, [&](Tape& tape, Tensor result) {
        return LinkGradients(tape, result, NamesOf(tape, result, of));
      }));
  return RunGradients(*linked, std::move(zeros));
}

absl::StatusOr<Session::LossAndGradients> Session::ParamGradients(Ref loss) {
  OCANNL_RETURN_IF_ERROR(CheckLoss(loss));
  OCANNL_RETURN_IF_ERROR(CheckTracked());
  std::vector<std::string> names;
  std::vector<NdArray> zeros;
  for (size_t k = 0; params_ && k < params_->size(); ++k) {
    names.push_back(params_->name(k));
    zeros.emplace_back(params_->like(k).dtype(), params_->like(k).dims());
  }
  OCANNL_ASSIGN_OR_RETURN(
      Linked* const linked,
      FindOrLink(loss, absl::StrCat("gradients of all ", names.size()),
                 [&](Tape& tape, Tensor result) {
                   return LinkGradients(tape, result, names);
                 }));
  return RunGradients(*linked, std::move(zeros));
}

absl::StatusOr<Session::LossAndGradients> Session::RunGradients(
    Linked& linked, std::vector<NdArray> zeros) {
  OCANNL_RETURN_IF_ERROR(Run(linked));
  OCANNL_ASSIGN_OR_RETURN(const NdArray value, context_.Read(linked.loss));
  LossAndGradients result = {.loss = value.AsDouble(0),
                             .gradients = std::move(zeros)};
  for (size_t k = 0; k < result.gradients.size(); ++k) {
    if (!linked.grads[k]) continue;
    NdArray& gradient = result.gradients[k];
    OCANNL_ASSIGN_OR_RETURN(const NdArray read,
                            context_.Read(*linked.grads[k]));
    gradient = read.Reshaped(gradient.dims());
  }
  return result;
}

std::vector<std::string> Session::NamesOf(Tape& tape, Tensor loss,
                                          absl::Span<const Ref> of) {
  std::vector<std::string> names;
  for (Ref ref : of) {
    const uint32_t slot = ref.slot();
    if (slot >= tape.calls().size()) {
      names.emplace_back();
      continue;
    }
    Tensor by = tape.tensor(slot);
    // No other tape's, which may have other dims, has that name.
    if (tape.IsComputed(slot) && by.id != loss.id) {
      by = Named(by, absl::StrCat("session_by", slot, "_", tape.number()));
    }
    names.push_back(by.node().name);
  }
  return names;
}

absl::StatusOr<Session::Linked> Session::LinkGradients(
    Tape& tape, Tensor loss, absl::Span<const std::string> names) {
  if (!loss.node().has_gradient) {  // all are 0
    OCANNL_ASSIGN_OR_RETURN(const Assignments code,
                            Forward(tape.model(), loss));
    OCANNL_ASSIGN_OR_RETURN(Linked linked, LinkCode(tape, code, loss));
    linked.grads.resize(names.size());
    return linked;
  }
  OCANNL_ASSIGN_OR_RETURN(Assignments code, GradUpdate(tape.model(), loss));
  std::vector<std::optional<std::string>> grads;
  for (const std::string& name : names) {
    const std::string grad = absl::StrCat(name, ".grad");
    const absl::Status kept =
        name.empty() ? absl::NotFoundError("") : Keep(code, grad);
    if (!kept.ok() && !absl::IsNotFound(kept)) return kept;
    grads.push_back(kept.ok() ? std::optional(grad) : std::nullopt);
  }
  OCANNL_ASSIGN_OR_RETURN(Linked linked, LinkCode(tape, code, loss));
  linked.grads = std::move(grads);
  return linked;
}

absl::StatusOr<NdArray> Session::FirstValue(Tensor param) {
  const std::string& name = param.node().name;
  Model& model = tape()->model();
  OCANNL_ASSIGN_OR_RETURN(const Context started,
                          RunInit(model, param, {}, Context(&stream_)));
  if (!absl::c_linear_search(started.ArrayNames(), name)) {
    return UserError("the parameter `", name,
                     "` has no initializer; give it one, or ParamList::Add a "
                     "value before the step");
  }
  return started.Read(name);
}

absl::Status Session::TakeParams(uint32_t slot) {
  Model& model = tape()->model();
  for (TensorId id : tape()->made(slot)) {
    const TensorNode& node = model.graph[id];
    if (!params_) {
      return absl::FailedPreconditionError(
          absl::StrCat("a block makes the parameter `", node.name,
                       "`, and the step has no list of them; Use one first, "
                       "which may be empty"));
    }
    const Dims dims = model.shapes.at(id).dims();
    auto check = [&](DType dtype, const Dims& others) -> absl::Status {
      if (dtype == node.dtype && others == dims) return absl::OkStatus();
      return UserError("a block makes the parameter `", node.name, "` as ",
                       Name(node.dtype), " ", DimsText(dims), ", and it is ",
                       Name(dtype), " ", DimsText(others),
                       "; give the scope of one another name");
    };
    if (const std::optional<size_t> k = params_->Find(node.name)) {
      const NdArray& like = params_->like(*k);
      OCANNL_RETURN_IF_ERROR(check(like.dtype(), like.dims()));
      continue;
    }
    // Restore may have read it before a step said that it is a parameter.
    const auto restored = states_.find(node.name);
    if (restored != states_.end()) {
      OCANNL_RETURN_IF_ERROR(
          check(restored->second.dtype, restored->second.dims));
    }
    OCANNL_ASSIGN_OR_RETURN(NdArray value, restored == states_.end()
                                               ? FirstValue({&model.graph, id})
                                               : context_.Read(node.name));
    OCANNL_RETURN_IF_ERROR(params_->Add(node.name, std::move(value)));
    states_.erase(node.name);
  }
  return absl::OkStatus();
}

absl::Status Session::StartStates(Assignments init) {
  EraseIf(init.list, [&](const Assignment& each) {
    const auto* assign = std::get_if<Assign>(&each);
    return assign != nullptr && states_.contains(init.arrays[assign->lhs].name);
  });
  std::vector<Array> started;
  for (const Assignment& each : init.list) {
    const auto* assign = std::get_if<Assign>(&each);
    if (assign != nullptr) started.push_back(init.arrays[assign->lhs]);
  }
  if (started.empty()) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, CompileProgram(init, {}));
  OCANNL_ASSIGN_OR_RETURN(Routine start,
                          context_.CompileAndLink(std::move(program)));
  OCANNL_RETURN_IF_ERROR(start.Run());
  for (Array& array : started) states_.emplace(array.name, std::move(array));
  return absl::OkStatus();
}

absl::Status Session::CheckReached(const UpdateRule& rule,
                                   absl::Span<const Tensor> reached) {
  if (!absl::StrContains(rule.text, "(first ")) return absl::OkStatus();
  std::vector<std::string> names;
  for (Tensor p : reached) names.push_back(p.node().name);
  const auto [before, is_new] = rule_params_.try_emplace(rule.name, names);
  if (is_new || before->second == names) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the rule `", rule.name,
                   "` counts the steps of its parameters together: ",
                   absl::StrJoin(before->second, ", "),
                   "; the gradient of this loss reaches ",
                   absl::StrJoin(names, ", "), "; use a session for each"));
}

absl::StatusOr<Session::Linked> Session::LinkUpdate(Tape& tape, Tensor loss,
                                                    const UpdateRule& rule,
                                                    bool has_rate) {
  Model& model = tape.model();
  if (!has_rate && !schedule_) {
    return absl::FailedPreconditionError(
        "there is neither a learning rate nor a schedule");
  }
  const Tensor rate =
      has_rate ? Data(model.graph, kRateName, NdArray(DType::kF32, {}),
                      SpecOf(Shape()))
               : Named(schedule_(model.graph, tape.step()), "scheduled_rate");
  OCANNL_ASSIGN_OR_RETURN(const Assignments gradient, GradUpdate(model, loss));
  OCANNL_ASSIGN_OR_RETURN(const UpdateCode states,
                          UpdateStates(model, tape.updates()));
  OCANNL_RETURN_IF_ERROR(CheckReached(rule, Parameters(model, loss)));
  OCANNL_ASSIGN_OR_RETURN(UpdateCode code, RuleUpdate(model, loss, rate, rule));
  OCANNL_RETURN_IF_ERROR(StartStates(std::move(code.init)));
  return LinkCode(
      tape, Sequence("update", {gradient, states.update, code.update}), loss);
}

}  // namespace ocannl::train
