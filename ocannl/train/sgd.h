// SPDX-License-Identifier: Apache-2.0
//
// Stochastic gradient descent with momentum, weight decay and Nesterov's
// variant, as PyTorch's torch.optim.SGD without dampening defines them:
//
//   delta =: p.grad + weight_decay * p
//   momentum > 0:  m =: momentum * m + delta
//                  delta =: m, or with nesterov delta =+ momentum * m
//   p =- learning_rate * delta
//
// Every product above is fused with its addition: one rounding.
#ifndef OCANNL_TRAIN_SGD_H_
#define OCANNL_TRAIN_SGD_H_

#include "absl/status/statusor.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/model.h"

namespace ocannl::train {

struct SgdOptions {
  double momentum = 0;  // in [0, 1)
  double weight_decay = 0;
  bool nesterov = false;  // needs momentum
};

// One update of the parameter `p`, whose gradient is in `p.grad`, by the only
// cell of the array `learning_rate` of `code`; appended to the parts of `code`.
// Errors: `p` is not a parameter of the model; an option out of range.
absl::Status SgdOne(Model& model, Tensor p, const Array& learning_rate,
                    const SgdOptions& options, UpdateCode& code);

// The code of `learning_rate`, a tensor of one cell that is kept after a run,
// and one update of every parameter of `loss`. Errors: those of SgdOne, of
// CheckIsIn(loss) and of Forward(learning_rate).
absl::StatusOr<UpdateCode> SgdUpdate(Model& model, Tensor loss,
                                     Tensor learning_rate,
                                     const SgdOptions& options);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_SGD_H_
