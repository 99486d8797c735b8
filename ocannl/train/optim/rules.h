// SPDX-License-Identifier: Apache-2.0
//
// The textbook's optimisers as update rules. Each computes the same as
// PyTorch's torch.optim of that name, with the same defaults. The learning rate
// is a tensor, and not an argument here. Lion follows its paper. Rules that
// depend on the number of steps count those of their own code, so that a
// checkpoint of the states (checkpoint/checkpoint.h) has all that goes on.
//
//   StartTraining(model, loss, Number(graph, 1e-3), AdamW(), context);
//
// Narrow floats are computed as f32 and rounded when they are stored; the
// states of their parameters are f32.
#ifndef OCANNL_TRAIN_OPTIM_RULES_H_
#define OCANNL_TRAIN_OPTIM_RULES_H_

#include "absl/status/statusor.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rule.h"

namespace ocannl::train {

// Errors of all: an option that is out of range or not finite.

// Stochastic gradient descent with the momentum of Polyak or Nesterov, without
// dampening. Each product is fused with its addition: one rounding.
struct SgdOptions {
  double momentum = 0;  // in [0, 1)
  double weight_decay = 0;
  bool nesterov = false;  // needs momentum
};
absl::StatusOr<UpdateRule> Sgd(const SgdOptions& options = {});

// RuleUpdate with Sgd(options).
absl::StatusOr<UpdateCode> SgdUpdate(Model& model, Tensor loss,
                                     Tensor learning_rate,
                                     const SgdOptions& options);

// Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015. The bias
// corrections 1 - beta^t are the f64 states c = beta c + (1 - beta).
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;  // Reddi et al., "On the Convergence of Adam", 2018
};
absl::StatusOr<UpdateRule> Adam(const AdamOptions& options = {});

// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019: p is
// first multiplied by 1 - learning_rate * weight_decay.
struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
};
absl::StatusOr<UpdateRule> AdamW(const AdamWOptions& options = {});

// Tieleman and Hinton, "Lecture 6.5: RMSProp", 2012; centered as Graves,
// "Generating Sequences With Recurrent Neural Networks", 2013.
struct RmsPropOptions {
  double alpha = 0.99;  // in [0, 1)
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;  // in [0, 1)
  bool centered = false;
};
absl::StatusOr<UpdateRule> RmsProp(const RmsPropOptions& options = {});

// Duchi, Hazan and Singer, "Adaptive Subgradient Methods", 2011.
struct AdagradOptions {
  double rate_decay = 0;  // the rate of step t is divided by 1 + t * this
  double epsilon = 1e-10;
  double weight_decay = 0;
};
absl::StatusOr<UpdateRule> Adagrad(const AdagradOptions& options = {});

// Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012.
struct AdadeltaOptions {
  double rho = 0.9;  // in [0, 1)
  double epsilon = 1e-6;
  double weight_decay = 0;
};
absl::StatusOr<UpdateRule> Adadelta(const AdadeltaOptions& options = {});

// Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023; the
// decay is decoupled, the sign of 0 is 0.
struct LionOptions {
  double beta1 = 0.9, beta2 = 0.99;  // in [0, 1)
  double weight_decay = 0;
};
absl::StatusOr<UpdateRule> Lion(const LionOptions& options = {});

// Jordan et al., "Muon: An optimizer for hidden layers in neural networks",
// 2024: the update is the momentum orthogonalised by five Newton-Schulz steps,
// times sqrt(max(1, outputs / inputs)). In f32, where PyTorch uses bf16. Only
// of parameters with one input axis and one output axis: the others of its list
// stay as they are, so give them to another rule.
struct MuonOptions {
  double momentum = 0.95;  // in [0, 1)
  double weight_decay = 0.1;
  bool nesterov = true;
};
absl::StatusOr<UpdateRule> Muon(const MuonOptions& options = {});

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_OPTIM_RULES_H_
