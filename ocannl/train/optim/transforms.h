// SPDX-License-Identifier: Apache-2.0
//
// Gradient transformations: rules for what happens to gradients before an
// optimiser takes them, and to parameters after it. Chain them with one of
// rules.h.
//
//   UpdateRule rule = Chain({*ClipByGlobalNorm(1), *AdamW(), *Ema(0.999)});
#ifndef OCANNL_TRAIN_OPTIM_TRANSFORMS_H_
#define OCANNL_TRAIN_OPTIM_TRANSFORMS_H_

#include "absl/status/statusor.h"
#include "ocannl/train/optim/rule.h"

namespace ocannl::train {

// Multiplies all gradients by min(1, max_norm / (norm + 1e-6)) with the norm of
// all gradients together, as torch.nn.utils.clip_grad_norm_ does. Pascanu,
// Mikolov and Bengio, "On the difficulty of training recurrent neural
// networks", 2013. Error: a norm that is not above 0 and finite.
absl::StatusOr<UpdateRule> ClipByGlobalNorm(double max_norm);

// The exponential moving average of each parameter p, the state p.ema. After
// the first step it is p itself, then decay p.ema + (1 - decay) p. Error: a
// decay that is not in [0, 1).
absl::StatusOr<UpdateRule> Ema(double decay);

// Exchanges each parameter with its average, which code of Ema declared before.
// Call it to use the averages, and again to train on. For parameters of narrow
// floats, the second exchange leaves averages that are rounded to the dtype of
// the parameters.
UpdateRule SwapEma();

// Gradient accumulation. AccumulateGradients, in a routine that runs for each
// part of the batch, adds the part's gradients to sums that start at 0.
// TakeAccumulated, before an optimiser in the routine that runs after `parts`
// of them, replaces the gradients by their mean and resets the sums. Error: no
// parts.
UpdateRule AccumulateGradients();
absl::StatusOr<UpdateRule> TakeAccumulated(int64_t parts);

// Loss scaling, for gradients that f16 would round to 0. Divides the gradients
// by the scale that GradUpdate was given (GradOptions); exact for powers of two
// that stay in range. Micikevicius et al., "Mixed Precision Training", 2018.
// Error: a scale that is not above 0 and finite.
absl::StatusOr<UpdateRule> UnscaleGradients(double scale);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_OPTIM_TRANSFORMS_H_
