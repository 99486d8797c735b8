// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/scalar_trainer.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/train/optim/rules.h"

namespace ocannl::train {
namespace {

bool IsPowerOfTwo(int64_t n) { return (n & (n - 1)) == 0; }

}  // namespace

ScalarTrainer::ScalarTrainer(const Backend* backend, ParamList params,
                             Loss loss, const TrainerOptions& options)
    : params_(std::move(params)),
      loss_(std::move(loss)),
      options_(options),
      session_(backend, {.seed = options.seed,
                         .track_gradients = options.track_gradients,
                         .is_eager = options.mode == TrainerMode::kEager,
                         .on_change = options.on_change}),
      rule_(std::make_shared<const UpdateRule>(*Sgd())) {
  if (options.schedule) session_.set_schedule(options.schedule);
}

absl::StatusOr<Ref> ScalarTrainer::Record(Inputs inputs) {
  if (is_in_loss_) {
    return absl::FailedPreconditionError("the loss calls its own trainer");
  }
  if (loss_ == nullptr) {
    return UserError(
        "the loss of the trainer is null; give a function that records one");
  }
  session_.Begin();
  absl::Status used = session_.Use(params_, inputs);
  if (!used.ok()) return used;
  const bool is_eager = options_.mode == TrainerMode::kEager;
  Compiled* compiled = nullptr;
  if (!is_eager) {
    const auto found = compiled_.find({session_.tape_number(), inputs.size()});
    if (found != compiled_.end()) compiled = &found->second;
  }
  if (compiled != nullptr && !IsPowerOfTwo(++compiled->calls)) {
    return session_.RepeatUpTo(compiled->loss);
  }
  is_in_loss_ = true;
  absl::Cleanup leave = [this] { is_in_loss_ = false; };
  const Ref loss = loss_(session_, session_.args());
  if (is_eager && session_.status().ok()) return loss;
  OCANNL_RETURN_IF_ERROR(session_.CheckLoss(loss));
  if (compiled == nullptr) {
    session_.FixTape();
    compiled_[{session_.tape_number(), inputs.size()}] = {.loss = loss.slot(),
                                                          .calls = 1};
  } else if (compiled->loss != loss.slot()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the loss is operation ", loss.slot(), ", and was ", compiled->loss,
        " when it was compiled; what changes must be an input"));
  }
  return loss;
}

absl::StatusOr<double> ScalarTrainer::Forward(Inputs inputs) {
  OCANNL_ASSIGN_OR_RETURN(const Ref loss, Record(inputs));
  return session_.LossValue(loss);
}

absl::StatusOr<Session::LossAndGradients> ScalarTrainer::ValueAndGrad(
    Inputs inputs) {
  OCANNL_ASSIGN_OR_RETURN(const Ref loss, Record(inputs));
  return session_.ParamGradients(loss);
}

absl::StatusOr<std::vector<NdArray>> ScalarTrainer::Backward(Inputs inputs) {
  OCANNL_ASSIGN_OR_RETURN(auto both, ValueAndGrad(inputs));
  return std::move(both.gradients);
}

absl::Status ScalarTrainer::Update(std::optional<double> rate, Inputs inputs) {
  OCANNL_ASSIGN_OR_RETURN(const Ref loss, Record(inputs));
  return session_.Update(loss, rule_, rate);
}

absl::Status ScalarTrainer::set_rule(const absl::StatusOr<UpdateRule>& rule) {
  OCANNL_RETURN_IF_ERROR(rule.status());
  const bool is_same = rule->name == rule_->name && rule->text == rule_->text &&
                       rule->numbers == rule_->numbers;
  if (!is_same) rule_ = std::make_shared<const UpdateRule>(*rule);
  return absl::OkStatus();
}

absl::Status ScalarTrainer::Save(const std::string& path) {
  OCANNL_RETURN_IF_ERROR(session_.UseParams(params_));
  return session_.Save(path);
}

absl::Status ScalarTrainer::Restore(const std::string& path) {
  OCANNL_RETURN_IF_ERROR(session_.UseParams(params_));
  return session_.Restore(path);
}

}  // namespace ocannl::train
