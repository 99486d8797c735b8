// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/compat/run_once.h"

#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/run/run.h"

namespace ocannl::train {

absl::StatusOr<Context> InitParams(Model& model, Tensor t,
                                   const Context& context,
                                   const InitParamsOptions& options) {
  return options.reinit_all ? RunInit(model, t, {}, context)
                            : RunMissingInit(model, t, context);
}

absl::StatusOr<Routine> ToRoutineWithCdFile(const Context& context,
                                            const Assignments& code,
                                            const std::string& output_cd_file) {
  OCANNL_RETURN_IF_ERROR(WriteFile(output_cd_file, PrintCd(code)));
  return ToRoutine(context, code, {});
}

absl::StatusOr<Context> RunOnce(
    Model& model, Tensor t, const Context& context,
    const RunOnceOptions& options,
    absl::FunctionRef<absl::StatusOr<Assignments>(Model& model, Tensor t)> f) {
  OCANNL_ASSIGN_OR_RETURN(const Assignments code, f(model, t));
  Context started = context;
  if (!options.skip_init) {
    OCANNL_ASSIGN_OR_RETURN(
        started,
        InitParams(model, t, context, {.reinit_all = options.reinit_all}));
  }
  OCANNL_ASSIGN_OR_RETURN(
      Routine routine,
      options.output_cd_file.empty()
          ? ToRoutine(started, code, {})
          : ToRoutineWithCdFile(started, code, options.output_cd_file));
  for (const auto& [name, value] : options.bindings) {
    OCANNL_RETURN_IF_ERROR(routine.Set(name, value));
  }
  OCANNL_RETURN_IF_ERROR(SyncRun(routine));
  return routine.context();
}

absl::StatusOr<Context> ForwardOnce(Model& model, Tensor t,
                                    const Context& context,
                                    const RunOnceOptions& options) {
  return RunOnce(model, t, context, options, Forward);
}

absl::StatusOr<Context> UpdateOnce(Model& model, Tensor loss,
                                   const Context& context,
                                   const RunOnceOptions& options) {
  return RunOnce(model, loss, context, options, [](Model& of, Tensor t) {
    return GradUpdate(of, t, {.keep_gradients = true});
  });
}

}  // namespace ocannl::train
