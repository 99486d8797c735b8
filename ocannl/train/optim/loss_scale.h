// SPDX-License-Identifier: Apache-2.0
//
// Mixed precision with dynamic loss scaling. Networks compute in narrow floats
// on parameters of f32, ParamScope{.dtype = DType::kF16, .kept = DType::kF32}
// (blocks/params.h). The gradient of the loss is multiplied by a scale, so that
// small gradients are not rounded to 0, and the gradients of the parameters are
// divided by it. If a gradient is not finite, the step is skipped and the scale
// is halved: parameters and states of the optimiser stay as they were. After
// enough finite steps the scale doubles. Micikevicius et al., "Mixed Precision
// Training", 2018.
//
//   OCANNL_ASSIGN_OR_RETURN(auto scale, LossScaleFor(DType::kF16, model));
//   OCANNL_ASSIGN_OR_RETURN(
//       Assignments gradient,
//       GradUpdate(model, loss, {.scaled_by = TensorOf(scale)}));
//   OCANNL_ASSIGN_OR_RETURN(
//       UpdateCode update,
//       ScaledRuleUpdate(model, params, rate, AdamW(), scale));
//   // init: update.init, ...     step: gradient, update.update
//
// The scale is always a power of two, so that it only rounds gradients that are
// too small even with it.
#ifndef OCANNL_TRAIN_OPTIM_LOSS_SCALE_H_
#define OCANNL_TRAIN_OPTIM_LOSS_SCALE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rule.h"

namespace ocannl::train {

struct LossScaleOptions {
  double first = 65536;  // a power of two from 1 to 2^127
  // So many steps without overflow, after which it doubles; up to 2^24.
  int64_t growth_interval = 2000;
};

struct LossScale {
  Tensor tensor;            // a state of one cell, loss_scale
  int64_t growth_interval;  // of the options
};

// Of the model, which has one. Errors: options out of range; another one.
absl::StatusOr<LossScale> MakeLossScale(Model& model,
                                        const LossScaleOptions& options = {});

// Whether networks that compute in `dtype` need one: not where it has the range
// of f32, as bf16 has.
bool NeedsLossScale(DType dtype);

// The scale for networks that compute in `dtype`: the one that the model has,
// or a new one. None, if they need none. Errors: those of MakeLossScale.
absl::StatusOr<std::optional<LossScale>> LossScaleFor(DType dtype,
                                                      Model& model);
std::optional<Tensor> TensorOf(const std::optional<LossScale>& scale);

// RuleUpdate on the gradients of a loss that is scaled so, for all parameters
// that it has; its `init` sets the scale too. `rule` declares all states that
// it writes. Without a scale, RuleUpdate. Errors: those of RuleUpdate.
absl::StatusOr<UpdateCode> ScaledRuleUpdate(
    Model& model, absl::Span<const Tensor> params,
    std::optional<Tensor> learning_rate, const absl::StatusOr<UpdateRule>& rule,
    const std::optional<LossScale>& scale);

// Error: there is a scale, and an update that does not take it.
absl::Status CheckNotScaled(const std::optional<LossScale>& scale);

// The code that updates the parameters by their gradients, which `scale`
// scales, and the states of blocks (blocks/state.h). A function of the model
// and the loss alone is an update, too. It is an error if the loss has a scale.
//
//   train::UpdateOf update_of = [](Model& model, Tensor loss) {
//     return SgdUpdate(model, loss, Number(model.graph, 0.1), {});
//   };
using ScaledUpdateOf = std::function<absl::StatusOr<UpdateCode>(
    Model& model, Tensor loss, const std::optional<LossScale>& scale)>;
struct UpdateOf : ScaledUpdateOf {
  using ScaledUpdateOf::ScaledUpdateOf;
  template <std::invocable<Model&, Tensor> F>
  UpdateOf(F update_of)  // NOLINT
      : ScaledUpdateOf([update_of](Model& model, Tensor loss,
                                   const std::optional<LossScale>& scale)
                           -> absl::StatusOr<UpdateCode> {
          absl::Status status = CheckNotScaled(scale);
          if (!status.ok()) return status;
          return update_of(model, loss);
        }) {
    if constexpr (std::is_constructible_v<F, std::nullptr_t>) {
      if (update_of == nullptr) ScaledUpdateOf::operator=(nullptr);
    }
  }
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_OPTIM_LOSS_SCALE_H_
