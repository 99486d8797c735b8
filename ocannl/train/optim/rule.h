// SPDX-License-Identifier: Apache-2.0
//
// UpdateRule: what an optimiser does in a step, as code in the notation of
// assignments (core/notation/statements/statements.h) on a list of parameters.
//
//   const UpdateRule signs = {
//       .name = "sign_sgd",
//       .text = R"(
//           for p in params do
//             p =- learning_rate * where(p.grad < 0, -1, 1) ~logic:".")"};
//   OCANNL_ASSIGN_OR_RETURN(UpdateCode code,
//                           RuleUpdate(model, loss, learning_rate, signs));
//
// rules.h has the textbook's; PrintCd shows what becomes of the text.
#ifndef OCANNL_TRAIN_OPTIM_RULE_H_
#define OCANNL_TRAIN_OPTIM_RULE_H_

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// The text can name lists: `params`, and of its matrices, `wide` (at least as
// many inputs as outputs) and `tall`. It can name the tensors `first`, the
// first parameter, to which shared states belong, and `learning_rate`, of one
// cell, if there is one.
struct UpdateRule {
  std::string name;
  std::string text;
  absl::flat_hash_map<std::string, double> numbers = {};
};

// The rules in order, as one rule. A later number replaces an earlier number of
// its name.
UpdateRule Chain(absl::Span<const UpdateRule> rules);

// The code of one step for `params`, of which there are groups, each with its
// own code. Errors: that of `rule`; a parameter that is not one of the model's,
// is frozen or has no gradient; no parameters; a learning rate of more than one
// cell; of ParseCode.
absl::StatusOr<UpdateCode> RuleUpdate(Model& model,
                                      absl::Span<const Tensor> params,
                                      std::optional<Tensor> learning_rate,
                                      const absl::StatusOr<UpdateRule>& rule);

// The same for Parameters(model, loss): a parameter that is frozen, or that no
// gradient reaches, keeps its value, without weight decay, and has no states.
absl::StatusOr<UpdateCode> RuleUpdate(Model& model, Tensor loss,
                                      std::optional<Tensor> learning_rate,
                                      const absl::StatusOr<UpdateRule>& rule);

// Gives the parameters of `loss` their first values in `context`, and makes the
// routine that computes the loss, its gradients, and one step of `rule`. Its
// context() has the loss and the parameters. Networks with states, such as
// batch normalization, need UpdateStates (blocks/state.h) between the two.
// Errors: those of GradUpdate, RuleUpdate, RunInit and ToRoutine.
absl::StatusOr<Routine> StartTraining(Model& model, Tensor loss,
                                      Tensor learning_rate,
                                      const absl::StatusOr<UpdateRule>& rule,
                                      const Context& context);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_OPTIM_RULE_H_
