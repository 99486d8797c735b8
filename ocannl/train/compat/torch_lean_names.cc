// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/compat/torch_lean_names.h"

#include <type_traits>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/narrow_float.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/ops/number.h"

namespace ocannl::train {
namespace {

absl::Status NoData(absl::string_view function) {
  return UserError(function, ": empty dataset; give the inputs of one step ",
                   "at least");
}

// fma(-rate, g, p) of each cell.
template <class T>
void Descend(absl::Span<T> p, absl::Span<const T> g, float rate) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] = number::Convert<T>(number::Fma<C>(-static_cast<C>(rate),
                                             number::Convert<C>(g[i]),
                                             number::Convert<C>(p[i])));
  }
}

}  // namespace

absl::Status AdamStep(ScalarTrainer& trainer, double rate,
                      const AdamOptions& options, Inputs inputs) {
  OCANNL_RETURN_IF_ERROR(trainer.set_rule(Adam(options)));
  return trainer.Step(rate, inputs);
}

absl::Status AdamWStep(ScalarTrainer& trainer, double rate,
                       const AdamWOptions& options, Inputs inputs) {
  OCANNL_RETURN_IF_ERROR(trainer.set_rule(AdamW(options)));
  return trainer.Step(rate, inputs);
}

absl::Status TrainCycle(
    ScalarTrainer& trainer, int64_t steps, std::optional<double> rate,
    absl::Span<const std::vector<TrainerInput>> data,
    absl::FunctionRef<void(int64_t step, double loss)> log) {
  if (data.empty()) return NoData("TrainCycle");
  for (int64_t step = 0; step < steps; ++step) {
    const Inputs inputs = data[step % data.size()];
    OCANNL_RETURN_IF_ERROR(rate ? trainer.Step(*rate, inputs)
                                : trainer.Step(inputs));
    OCANNL_ASSIGN_OR_RETURN(const double loss, trainer.session().UpdatedLoss());
    log(step, loss);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> MeanLoss(
    ScalarTrainer& trainer, absl::Span<const std::vector<TrainerInput>> data) {
  if (data.empty()) return NoData("MeanLoss");
  double sum = 0;
  for (const std::vector<TrainerInput>& inputs : data) {
    OCANNL_ASSIGN_OR_RETURN(const double loss, trainer.Forward(inputs));
    sum += loss;
  }
  return sum / static_cast<double>(data.size());
}

absl::Status SgdStep(const ParamList& params, double rate,
                     absl::Span<const NdArray> gradients) {
  OCANNL_RETURN_IF_ERROR(CheckRate(rate));
  OCANNL_RETURN_IF_ERROR(params.CheckAlike(gradients, "gradient"));
  OCANNL_ASSIGN_OR_RETURN(std::vector<NdArray> values, params.Get());
  for (size_t k = 0; k < values.size(); ++k) {
    if (!params.requires_grad(k)) continue;
    VisitDType(values[k].dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (number::Float<T> || kIsNarrow<T>) {
        Descend<T>(values[k].values<T>(), gradients[k].values<T>(),
                   static_cast<float>(rate));
      }
    });
  }
  return params.Set(values);
}

}  // namespace ocannl::train
