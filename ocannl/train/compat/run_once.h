// SPDX-License-Identifier: Apache-2.0
//
// OCANNL's short ways from a tensor to its values in a context.
//
//   OCANNL_ASSIGN_OR_RETURN(Context after, UpdateOnce(model, loss, context));
//   OCANNL_ASSIGN_OR_RETURN(NdArray gradient, after.Read("w.grad"));
#ifndef OCANNL_TRAIN_COMPAT_RUN_ONCE_H_
#define OCANNL_TRAIN_COMPAT_RUN_ONCE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

struct InitParamsOptions {
  // Parameters that the context has values of get their first values, too.
  bool reinit_all = false;
};

// Gives the parameters of `t` their first values in `context`. Returns the
// context to link the next routine to. Errors: those of RunInit (run/run.h).
absl::StatusOr<Context> InitParams(Model& model, Tensor t,
                                   const Context& context,
                                   const InitParamsOptions& options);

// ToRoutine (core/compile.h), and writes the text of the code (PrintCd) to the
// file `output_cd_file`. Errors: also those of WriteFile.
absl::StatusOr<Routine> ToRoutineWithCdFile(const Context& context,
                                            const Assignments& code,
                                            const std::string& output_cd_file);

struct RunOnceOptions {
  bool skip_init = false;           // parameters get no values
  bool reinit_all = false;          // as in InitParamsOptions
  std::string output_cd_file = "";  // for the code as text; empty: none
  // Values of static indices.
  std::vector<std::pair<std::string, int64_t>> bindings = {};
};

// InitParams, then a run of the code that `f` makes of `t`. Returns the context
// that has its results. Errors: those of the three.
absl::StatusOr<Context> RunOnce(
    Model& model, Tensor t, const Context& context,
    const RunOnceOptions& options,
    absl::FunctionRef<absl::StatusOr<Assignments>(Model& model, Tensor t)> f);

// RunOnce of Forward: the context has the value of `t`.
absl::StatusOr<Context> ForwardOnce(Model& model, Tensor t,
                                    const Context& context,
                                    const RunOnceOptions& options = {});

// RunOnce of GradUpdate: the context has the value of `loss`, and the gradients
// of its parameters. No parameter changes: add the code of SgdUpdate for that.
absl::StatusOr<Context> UpdateOnce(Model& model, Tensor loss,
                                   const Context& context,
                                   const RunOnceOptions& options = {});

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_COMPAT_RUN_ONCE_H_
