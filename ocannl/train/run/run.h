// SPDX-License-Identifier: Apache-2.0
//
// Running code: the short ways, for the first look at a tensor.
//
//   OCANNL_ASSIGN_OR_RETURN(NdArray value,
//                           train::ForwardAndForget(model, t, backend));
#ifndef OCANNL_TRAIN_RUN_RUN_H_
#define OCANNL_TRAIN_RUN_RUN_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// Gives all parameters of `t` their first values in `context` and then runs
// `also`, such as the init of UpdateCode. Parameters that differ only in their
// random numbers share code (core/first_values.h); the values are those of
// InitParams. Returns the context to link the next routine to. Errors: those of
// InitParams, ToRoutine and of a run.
absl::StatusOr<Context> RunInit(Model& model, Tensor t, Assignments also,
                                const Context& context);

// The same for the parameters that `context` has no values of. The others keep
// theirs. Errors: those of InitParams, ToRoutine and of a run.
absl::StatusOr<Context> RunMissingInit(Model& model, Tensor t,
                                       const Context& context,
                                       Assignments also = {});

// Runs the routine and returns when it is done. Errors: those of Routine::Run
// and of the run (Backend::RunStatus).
absl::Status SyncRun(Routine& routine);

// The same for all values of the indices that have a range (SequentialLoop),
// with a call of `then` after each run.
absl::Status SyncRun(Routine& routine, absl::FunctionRef<absl::Status()> then);

// Gives all parameters of `t` that `context` does not have their first values,
// and computes `t` once. Returns the context that has it. Errors: those of
// Forward and RunInit.
absl::StatusOr<Context> ForwardAndContext(Model& model, Tensor t,
                                          const Context& context);

// The value of `t` after that. Nothing else is kept: other code may compute `t`
// or what it depends on, before and after. Errors: likewise.
absl::StatusOr<NdArray> ForwardAndForget(Model& model, Tensor t,
                                         const Backend* backend);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_RUN_RUN_H_
