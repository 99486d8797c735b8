// SPDX-License-Identifier: Apache-2.0
//
// The half of a session that makes routines of tapes.
#include <bit>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/model.h"
#include "ocannl/train/trainer/session.h"

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

absl::StatusOr<Session::Linked> Session::LinkGradients(
    Tape& tape, Tensor loss, absl::Span<const Ref> of) {
  if (!loss.node().has_gradient) {  // all are 0
    OCANNL_ASSIGN_OR_RETURN(const Assignments code,
                            Forward(tape.model(), loss));
    OCANNL_ASSIGN_OR_RETURN(Linked linked, LinkCode(tape, code, loss));
    linked.grads.resize(of.size());
    return linked;
  }
  std::vector<std::string> names(of.size());
  for (size_t k = 0; k < of.size(); ++k) {
    const uint32_t slot = of[k].slot();
    if (slot >= tape.calls().size()) continue;  // after the loss
    Tensor by = tape.tensor(slot);
    // No other tape's, which may have other dims, has that name.
    if (tape.IsComputed(slot) && by.id != loss.id) {
      by = Named(by, absl::StrCat("session_by", slot, "_", tape.number()));
    }
    names[k] = absl::StrCat(by.node().name, ".grad");
  }
  OCANNL_ASSIGN_OR_RETURN(Assignments code, GradUpdate(tape.model(), loss));
  std::vector<std::optional<std::string>> grads;
  for (const std::string& name : names) {
    const absl::Status kept =
        name.empty() ? absl::NotFoundError("") : Keep(code, name);
    if (!kept.ok() && !absl::IsNotFound(kept)) return kept;
    grads.push_back(kept.ok() ? std::optional(name) : std::nullopt);
  }
  OCANNL_ASSIGN_OR_RETURN(Linked linked, LinkCode(tape, code, loss));
  linked.grads = std::move(grads);
  return linked;
}

absl::Status Session::StartStates(Assignments init) {
  std::erase_if(init.list, [&](const Assignment& each) {
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
  OCANNL_RETURN_IF_ERROR(CheckReached(rule, Parameters(model, loss)));
  OCANNL_ASSIGN_OR_RETURN(UpdateCode code, RuleUpdate(model, loss, rate, rule));
  OCANNL_RETURN_IF_ERROR(StartStates(std::move(code.init)));
  return LinkCode(tape, Sequence("update", {gradient, code.update}), loss);
}

}  // namespace ocannl::train
