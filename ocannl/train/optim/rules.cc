// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/optim/rules.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/train/graph/option_check.h"

namespace ocannl::train {
namespace {

// The numbers of a rule, checked as they come.
class Numbers {
 public:
  // In [0, 1).
  Numbers& Share(const std::string& name, double value) {
    numbers_[absl::StrCat("one_minus_", name)] = 1 - value;  // rounded once
    return Add(name, value, CheckFraction(name, value));
  }
  // `option` is what users call it; empty: the name.
  Numbers& NotNegative(const std::string& name, double value,
                       absl::string_view option = "") {
    return Add(name, value,
               CheckNotNegative(option.empty() ? name : option, value));
  }
  Numbers& Flag(const std::string& name, bool value) {
    return Add(name, value ? 1 : 0, absl::OkStatus());
  }

  absl::StatusOr<UpdateRule> Rule(std::string name, std::string text) {
    if (!status_.ok()) return status_;
    return UpdateRule{std::move(name), std::move(text), std::move(numbers_)};
  }

 private:
  Numbers& Add(const std::string& name, double value, absl::Status fits) {
    status_.Update(fits);
    numbers_[name] = value;
    return *this;
  }

  absl::flat_hash_map<std::string, double> numbers_;
  absl::Status status_;
};

// The weight decay of the loss is a part of the gradient; that of AdamW, Lion
// and Muon is of the parameter itself.

constexpr char kSgd[] = R"(
  for p in params do
    ~~(p "param sgd step";
       if weight_decay > 0 then
         { sgd_delta } =: fma(!.weight_decay, widen(p), widen(p.grad))
       else { sgd_delta } =: widen(p.grad);
       if momentum > 0 then (
         { sgd_momentum } =: fma(!.momentum, sgd_momentum, sgd_delta);
         if nesterov then sgd_delta =+ !.momentum *. sgd_momentum
         else sgd_delta =: sgd_momentum);
       p =- type_as(learning_rate, sgd_delta) *. sgd_delta))";

constexpr char kAdam[] = R"(
  ~~(first "and its group: bias corrections";
     { adam_c1 } =: fma(!.beta1, f64(adam_c1), !.one_minus_beta1);
     { adam_c2 } =: fma(!.beta2, f64(adam_c2), !.one_minus_beta2);
     { adam_rate } =: f64(learning_rate) /. adam_c1;
     if decoupled_decay > 0 then
       { adam_kept } =: 1 - f64(learning_rate) *. !.decoupled_decay;
     { adam_root } =: sqrt(adam_c2));
  for p in params do
    ~~(p "param adam step";
       if weight_decay > 0 then
         { adam_g } =: fma(!.weight_decay, widen(p), widen(p.grad))
       else { adam_g } =: widen(p.grad);
       { adam_m } =: fma(!.one_minus_beta1, adam_g - adam_m, adam_m);
       { adam_v } =:
         fma(!.one_minus_beta2 *. adam_g, adam_g, !.beta2 *. adam_v);
       if amsgrad then ({ adam_most } =: maximum(adam_most, adam_v);
                        { adam_size } =: sqrt(adam_most))
       else { adam_size } =: sqrt(adam_v);
       { adam_denominator } =:
         adam_size /. type_as(adam_root, adam_g) + !.epsilon;
       { adam_step } =:
         type_as(adam_rate, adam_g) *. adam_m /. adam_denominator;
       if decoupled_decay > 0 then
         p =: widen(p) *. type_as(adam_kept, adam_g) - adam_step
       else p =- adam_step))";

absl::StatusOr<UpdateRule> AdamRule(const std::string& name,
                                    const AdamOptions& options,
                                    double decoupled_decay) {
  return Numbers()
      .Share("beta1", options.beta1)
      .Share("beta2", options.beta2)
      .NotNegative("epsilon", options.epsilon)
      .NotNegative("weight_decay", options.weight_decay)
      .Flag("amsgrad", options.amsgrad)
      .NotNegative("decoupled_decay", decoupled_decay, "weight_decay")
      .Rule(name, kAdam);
}

constexpr char kRmsProp[] = R"(
  for p in params do
    ~~(p "param rmsprop step";
       if weight_decay > 0 then
         { rmsprop_g } =: fma(!.weight_decay, widen(p), widen(p.grad))
       else { rmsprop_g } =: widen(p.grad);
       { rmsprop_v } =:
         fma(!.one_minus_alpha *. rmsprop_g, rmsprop_g, !.alpha *. rmsprop_v);
       if centered then (
         { rmsprop_m } =:
           fma(!.one_minus_alpha, rmsprop_g - rmsprop_m, rmsprop_m);
         { rmsprop_size } =: sqrt(fma(-rmsprop_m, rmsprop_m, rmsprop_v)))
       else { rmsprop_size } =: sqrt(rmsprop_v);
       { rmsprop_rate } =: type_as(learning_rate, rmsprop_g);
       if momentum > 0 then (
         { rmsprop_momentum } =: !.momentum *. rmsprop_momentum +
                                 rmsprop_g /. (rmsprop_size + !.epsilon);
         p =- rmsprop_rate *. rmsprop_momentum)
       else p =- rmsprop_rate *. rmsprop_g /. (rmsprop_size + !.epsilon)))";

constexpr char kAdagrad[] = R"(
  ~~(first "and its group: rate";
     { adagrad_t } =: f64(adagrad_t) + 1;
     { adagrad_rate } =:
       f64(learning_rate) /. (1 + (adagrad_t - 1) *. !.rate_decay));
  for p in params do
    ~~(p "param adagrad step";
       if weight_decay > 0 then
         { adagrad_g } =: fma(!.weight_decay, widen(p), widen(p.grad))
       else { adagrad_g } =: widen(p.grad);
       { adagrad_sum } =: fma(adagrad_g, adagrad_g, adagrad_sum);
       p =- type_as(adagrad_rate, adagrad_g) *. adagrad_g
            /. (sqrt(adagrad_sum) + !.epsilon)))";

constexpr char kAdadelta[] = R"(
  for p in params do
    ~~(p "param adadelta step";
       if weight_decay > 0 then
         { adadelta_g } =: fma(!.weight_decay, widen(p), widen(p.grad))
       else { adadelta_g } =: widen(p.grad);
       { adadelta_v } =:
         fma(!.one_minus_rho *. adadelta_g, adadelta_g, !.rho *. adadelta_v);
       { adadelta_u } like adadelta_g;
       { adadelta_step } =: sqrt(adadelta_u + !.epsilon)
                            /. sqrt(adadelta_v + !.epsilon) *. adadelta_g;
       adadelta_u =: fma(!.one_minus_rho *. adadelta_step, adadelta_step,
                         !.rho *. adadelta_u);
       p =- type_as(learning_rate, adadelta_g) *. adadelta_step))";

constexpr char kLion[] = R"(
  for p in params do
    ~~(p "param lion step";
       { lion_g } =: widen(p.grad);
       { lion_m } like lion_g;
       { lion_c } =: fma(!.one_minus_beta1, lion_g - lion_m, lion_m);
       { lion_sign } =: where(lion_c > 0, 1, where(lion_c < 0, -1, lion_c));
       lion_m =: fma(!.one_minus_beta2, lion_g - lion_m, lion_m);
       { lion_decay } =: !.weight_decay *. widen(p);
       p =- type_as(learning_rate, lion_g) *. (lion_sign + lion_decay)))";

// Of the list `params`, whose Gram matrix is that of the rows where `left`.
std::string MuonOf(absl::string_view params, bool left) {
  const absl::string_view gram =
      left ? "i->o; i->p => o->p" : "i->o; j->o => i->j";
  const absl::string_view apply =
      left ? "o->p; i->o => i->p" : "i->j; i->o => j->o";
  std::string text = absl::StrCat("for p in ", params, R"( do
    ~~(p "param muon step";
       { muon_g } =: widen(p.grad);
       { muon_m } =: fma(!.one_minus_momentum, muon_g - muon_m, muon_m);
       if nesterov then
         { muon_u } =: fma(!.momentum, muon_m - muon_g, muon_g)
       else { muon_u } =: muon_m;
       { muon_size } =:+ muon_u * muon_u ~logic:"i->o; i->o => 0";
       { muon_x } =: muon_u /. maximum(sqrt(muon_size), 0.0000001);
)");
  for (int k = 1; k <= 5; ++k) {
    absl::StrAppend(&text, "{ muon_a", k, " } =:+ muon_x * muon_x ~logic:\"",
                    gram, "\"; { muon_b", k, " } =:+ muon_a", k, " * muon_a", k,
                    " ~logic:\"j->i; k->j => k->i\"; muon_b", k,
                    " =: fma(2.0315, muon_b", k, ", -4.775 *. muon_a", k,
                    "); { muon_y", k, " } =:+ muon_b", k, " * muon_x ~logic:\"",
                    apply, "\"; muon_x =: fma(3.4445, muon_x, muon_y", k,
                    ");\n");
  }
  return text + R"(
       { muon_scale } =: sqrt(maximum(1, !.p.outputs /. !.p.inputs));
       { muon_kept } =: 1 - learning_rate *. !.weight_decay;
       p =: widen(p) *. type_as(muon_kept, muon_g) -
            type_as(learning_rate *. muon_scale, muon_g) *. muon_x))";
}

}  // namespace

absl::StatusOr<UpdateRule> Sgd(const SgdOptions& options) {
  if (options.nesterov && options.momentum == 0) {
    return absl::InvalidArgumentError(
        "nesterov needs momentum; set momentum above 0");
  }
  return Numbers()
      .Share("momentum", options.momentum)
      .NotNegative("weight_decay", options.weight_decay)
      .Flag("nesterov", options.nesterov)
      .Rule("sgd", kSgd);
}

absl::StatusOr<UpdateCode> SgdUpdate(Model& model, Tensor loss,
                                     Tensor learning_rate,
                                     const SgdOptions& options) {
  return RuleUpdate(model, loss, learning_rate, Sgd(options));
}

absl::StatusOr<UpdateRule> Adam(const AdamOptions& options) {
  return AdamRule("adam", options, /*decoupled_decay=*/0);
}

absl::StatusOr<UpdateRule> AdamW(const AdamWOptions& options) {
  return AdamRule("adamw",
                  {.beta1 = options.beta1,
                   .beta2 = options.beta2,
                   .epsilon = options.epsilon,
                   .amsgrad = options.amsgrad},
                  options.weight_decay);
}

absl::StatusOr<UpdateRule> RmsProp(const RmsPropOptions& options) {
  return Numbers()
      .Share("alpha", options.alpha)
      .NotNegative("epsilon", options.epsilon)
      .NotNegative("weight_decay", options.weight_decay)
      .Share("momentum", options.momentum)
      .Flag("centered", options.centered)
      .Rule("rmsprop", kRmsProp);
}

absl::StatusOr<UpdateRule> Adagrad(const AdagradOptions& options) {
  return Numbers()
      .NotNegative("rate_decay", options.rate_decay)
      .NotNegative("epsilon", options.epsilon)
      .NotNegative("weight_decay", options.weight_decay)
      .Rule("adagrad", kAdagrad);
}

absl::StatusOr<UpdateRule> Adadelta(const AdadeltaOptions& options) {
  return Numbers()
      .Share("rho", options.rho)
      .NotNegative("epsilon", options.epsilon)
      .NotNegative("weight_decay", options.weight_decay)
      .Rule("adadelta", kAdadelta);
}

absl::StatusOr<UpdateRule> Lion(const LionOptions& options) {
  return Numbers()
      .Share("beta1", options.beta1)
      .Share("beta2", options.beta2)
      .NotNegative("weight_decay", options.weight_decay)
      .Rule("lion", kLion);
}

absl::StatusOr<UpdateRule> Muon(const MuonOptions& options) {
  return Numbers()
      .Share("momentum", options.momentum)
      .NotNegative("weight_decay", options.weight_decay)
      .Flag("nesterov", options.nesterov)
      .Rule("muon", absl::StrCat(MuonOf("wide", /*left=*/true), ";\n",
                                 MuonOf("tall", /*left=*/false)));
}

}  // namespace ocannl::train
