// SPDX-License-Identifier: Apache-2.0
//
// The states are kept by copies: what a rule writes is not for this code to
// know, and a select takes either value bit by bit.
#include "ocannl/train/optim/loss_scale.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl::train {
namespace {

constexpr char kName[] = "loss_scale";
const double kGreatest = std::ldexp(1, 127);
constexpr int64_t kMostSteps = int64_t{1} << 24;  // that f32 counts

constexpr char kUnscale[] = R"(
  ~~(loss_scale "gradients that are not finite";
     { bad } like loss_scale;
     bad =: 0;
     for p in params do (
       { bad_part } =:+
         where(abs(widen(p.grad)) < !.infinity, 0, 1) ++ "...|...->... => 0";
       bad =+ f32(bad_part)));
  for p in params do
    p.grad =: widen(p.grad) /. type_as(loss_scale, widen(p.grad)))";

constexpr char kRescale[] = R"(
  ~~(loss_scale "halves or doubles";
     { good } =: where(loss_scale.bad == 0, good + 1, 0);
     loss_scale =:
       where(loss_scale.bad == 0,
             where(good < !.growth_interval, loss_scale,
                   minimum(loss_scale *. 2, !.greatest)),
             maximum(loss_scale /. 2, 1));
     good =: where(good < !.growth_interval, good, 0)))";

// The numbers of `arrays` in `code`, and leaves that stand for them.
struct Operands {
  Operands(Assignments& code, const std::vector<Array>& arrays) {
    for (const Array& array : arrays) {
      leaves.push_back(MakeLeaf(code.exprs, ComputeDType(array.dtype),
                                static_cast<int32_t>(leaves.size())));
      numbers.push_back(code.AddArray(array));
    }
  }

  std::vector<Expr> leaves;
  std::vector<int32_t> numbers;
};

// What stays as it was before a step that overflows.
std::vector<Array> Kept(const Model& model, absl::Span<const Tensor> params,
                        const UpdateCode& update) {
  std::vector<Array> kept(update.init.arrays.begin(), update.init.arrays.end());
  for (Tensor p : params) {
    kept.push_back(ValueArray(model.graph, model.shapes, p.id));
  }
  return kept;
}

// Puts copies of the arrays in front of `update`, and takes those behind it
// where `bad` is not 0.
void Guard(const std::vector<Array>& arrays, const Array& bad,
           Assignments& update) {
  Assignments before, after;
  for (const Array& array : arrays) {
    const Array copy = Intermediate(absl::StrCat(array.name, ".before"), array);
    const Operands from(before, {array});
    AssignPointwise(before, before.AddArray(copy), std::nullopt,
                    from.leaves[0].id(), from.numbers);
    const Operands of(after, {bad, array, copy});
    const Expr good = Equal(of.leaves[0], LiteralLike(of.leaves[0], 0));
    AssignPointwise(after, of.numbers[1], std::nullopt,
                    Select(good, of.leaves[1], of.leaves[2]).id(), of.numbers);
  }
  Append(before, update);
  Append(before, after);
  before.statics = update.statics;
  update = std::move(before);
}

}  // namespace

absl::StatusOr<LossScale> MakeLossScale(Model& model,
                                        const LossScaleOptions& options) {
  int exponent = 0;
  if (!(options.first >= 1 && options.first <= kGreatest) ||
      std::frexp(options.first, &exponent) != 0.5) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the first scale of the loss is ", NumberText(options.first),
        "; it must be a power of two from 1 to 2^127"));
  }
  if (options.growth_interval < 1 || options.growth_interval > kMostSteps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the growth interval of the scale of the loss is ",
        options.growth_interval, "; it must be from 1 to ", kMostSteps));
  }
  if (model.graph.Find(kName)) {
    return absl::AlreadyExistsError(
        absl::StrCat("the model has a tensor `", kName, "` already"));
  }
  Tensor tensor = Param(model.graph, kName, {.rows = {Dims{}, Dims{}, Dims{}}},
                        DType::kF32, [first = options.first](Tensor parameter) {
                          return Number(*parameter.graph, first);
                        });
  model.loss_scale = {tensor.id, options.growth_interval};
  return LossScale{tensor, options.growth_interval};
}

bool NeedsLossScale(DType dtype) {
  return VisitDType(dtype, [](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T>) return T::kExponentBits < 8;  // those of f32
    return false;
  });
}

absl::StatusOr<std::optional<LossScale>> LossScaleFor(DType dtype,
                                                      Model& model) {
  if (!NeedsLossScale(dtype)) return std::nullopt;
  if (!model.loss_scale) return MakeLossScale(model);
  return LossScale{{&model.graph, model.loss_scale->tensor},
                   model.loss_scale->growth_interval};
}

std::optional<Tensor> TensorOf(const std::optional<LossScale>& scale) {
  return scale ? std::optional(scale->tensor) : std::nullopt;
}

absl::StatusOr<UpdateCode> ScaledRuleUpdate(
    Model& model, absl::Span<const Tensor> params,
    std::optional<Tensor> learning_rate, const absl::StatusOr<UpdateRule>& rule,
    const std::optional<LossScale>& scale) {
  if (!scale) return RuleUpdate(model, params, learning_rate, rule);
  OCANNL_RETURN_IF_ERROR(rule.status());
  OCANNL_ASSIGN_OR_RETURN(
      const UpdateCode unscale,
      RuleUpdate(
          model, params, std::nullopt,
          UpdateRule{.name = "unscale",
                     .text = kUnscale,
                     .numbers = {{"infinity",
                                  std::numeric_limits<double>::infinity()}}}));
  OCANNL_ASSIGN_OR_RETURN(UpdateCode inner,
                          RuleUpdate(model, params, learning_rate, rule));
  OCANNL_ASSIGN_OR_RETURN(
      const UpdateCode rescale,
      RuleUpdate(
          model, params, std::nullopt,
          UpdateRule{.name = "rescale",
                     .text = kRescale,
                     .numbers = {{"growth_interval",
                                  static_cast<double>(scale->growth_interval)},
                                 {"greatest", kGreatest}}}));
  Guard(Kept(model, params, inner),
        model.states.at(absl::StrCat("bad_", kName)).array, inner.update);
  OCANNL_ASSIGN_OR_RETURN(const Assignments first,
                          InitParams(model, scale->tensor));
  return UpdateCode{
      .init = Sequence(absl::StrCat("scaled_", rule->name, "_init"),
                       {unscale.init, inner.init, rescale.init, first}),
      .update = Sequence(absl::StrCat("scaled_", rule->name, "_update"),
                         {unscale.update, inner.update, rescale.update})};
}

absl::Status CheckNotScaled(const std::optional<LossScale>& scale) {
  if (!scale) return absl::OkStatus();
  return UserError(
      "the gradients are those of a scaled loss: take `const "
      "std::optional<LossScale>& scale` as a third argument of the update, and "
      "give it to ScaledRuleUpdate");
}

}  // namespace ocannl::train
