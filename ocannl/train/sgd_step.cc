// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/sgd_step.h"

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"

namespace ocannl::train {

absl::StatusOr<Routine> StartSgd(Model& model, Tensor loss,
                                 Tensor learning_rate,
                                 const SgdOptions& options,
                                 const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(Assignments gradient, GradUpdate(model, loss));
  OCANNL_ASSIGN_OR_RETURN(UpdateCode sgd,
                          SgdUpdate(model, loss, learning_rate, options));
  OCANNL_ASSIGN_OR_RETURN(Assignments params, InitParams(model, loss));
  OCANNL_ASSIGN_OR_RETURN(
      Routine init,
      ToRoutine(context, Sequence("init", {params, sgd.init}), {}));
  OCANNL_RETURN_IF_ERROR(init.Run());
  return ToRoutine(init.context(), Sequence("step", {gradient, sgd.update}),
                   {});
}

}  // namespace ocannl::train
