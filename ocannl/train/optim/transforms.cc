// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/optim/transforms.h"

#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/graph/option_check.h"

namespace ocannl::train {
absl::StatusOr<UpdateRule> ClipByGlobalNorm(double max_norm) {
  OCANNL_RETURN_IF_ERROR(CheckAboveZero("max_norm", max_norm));
  return UpdateRule{.name = "clip",
                    .text = R"(
      ~~(first "and its group: clip by global norm";
         { clip_sum } =: 0:f64;
         for p in params do (
           { clip_part } =:+ square(widen(p.grad)) ++ "...|...->... => 0";
           clip_sum =+ f64(clip_part));
         { clip_scale } =:
           minimum(1, !.max_norm /. (sqrt(clip_sum) + 0.000001)));
      for p in params do
        p.grad =: widen(p.grad) *. type_as(clip_scale, widen(p.grad)))",
                    .numbers = {{"max_norm", max_norm}}};
}

absl::StatusOr<UpdateRule> Ema(double decay) {
  OCANNL_RETURN_IF_ERROR(CheckFraction("decay", decay));
  return UpdateRule{.name = "ema",
                    .text = R"(
      ~~(first "and its group: steps of the moving average";
         { ema_t } =: f64(ema_t) + 1);
      for p in params do
        ~~(p "param moving average";
           { ema_p } =: widen(p);
           { ema } like ema_p;
           { ema_next } =: fma(!.one_minus_ema_decay, ema_p - ema, ema);
           ema =: where(ema_t == 1, ema_p, ema_next)))",
                    .numbers = {{"one_minus_ema_decay", 1 - decay}}};
}

UpdateRule SwapEma() {
  return {.name = "swap_ema", .text = R"(
      for p in params do
        ~~(p "param and its moving average change places";
           { ema_swap } =: widen(p);
           p =: p.ema;
           p.ema =: ema_swap))"};
}

UpdateRule AccumulateGradients() {
  return {.name = "accumulate", .text = R"(
      for p in params do
        ~~(p "param gradient accumulation";
           { gradient_sum } =: gradient_sum + widen(p.grad)))"};
}

absl::StatusOr<UpdateRule> TakeAccumulated(int64_t parts) {
  const auto count = static_cast<double>(parts);
  OCANNL_RETURN_IF_ERROR(CheckAboveZero("the number of parts", count));
  return UpdateRule{.name = "take",
                    .text = R"(
      for p in params do
        ~~(p "param gradient of all parts";
           p.grad =: p.gradient_sum /. !.parts;
           p.gradient_sum =: 0))",
                    .numbers = {{"parts", count}}};
}

absl::StatusOr<UpdateRule> UnscaleGradients(double scale) {
  OCANNL_RETURN_IF_ERROR(CheckAboveZero("the scale of the loss", scale));
  return UpdateRule{
      .name = "unscale",
      .text = "for p in params do p.grad =: widen(p.grad) /. !.loss_scale",
      .numbers = {{"loss_scale", scale}}};
}

}  // namespace ocannl::train
