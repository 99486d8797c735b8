// SPDX-License-Identifier: Apache-2.0
//
// One step of stochastic gradient descent as a routine, ready to run.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       Routine step, train::StartSgd(model, loss, Number(graph, 0.1), {},
//                                     Context(&stream)));
//   for (int k = 0; k < 1000; ++k) OCANNL_RETURN_IF_ERROR(step.Run());
#ifndef OCANNL_TRAIN_SGD_STEP_H_
#define OCANNL_TRAIN_SGD_STEP_H_

#include "absl/status/statusor.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/model.h"
#include "ocannl/train/sgd.h"

namespace ocannl::train {

// Gives the parameters of `loss` their first values in `context`, and makes the
// routine that computes the loss, its gradients, and one SgdUpdate. Its
// context() has the loss and the parameters. Networks with states, such as
// batch normalization, need UpdateStates (blocks/state.h) between the two.
// Errors: those of GradUpdate, InitParams, SgdUpdate, ToRoutine and of a run.
absl::StatusOr<Routine> StartSgd(Model& model, Tensor loss,
                                 Tensor learning_rate,
                                 const SgdOptions& options,
                                 const Context& context);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_SGD_STEP_H_
