// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/run/run.h"

#include <utility>

#include "ocannl/core/assign/build.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/first_values.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/train/run/sequential_loop.h"

namespace ocannl::train {
namespace {

absl::Status Finish(const Routine& routine) {
  Stream& stream = routine.context().stream();
  stream.Sync();
  OCANNL_RETURN_IF_ERROR(stream.status());
  return stream.device().backend().RunStatus();
}

}  // namespace

absl::StatusOr<Context> RunInit(Model& model, Tensor t, Assignments also,
                                const Context& context) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  OCANNL_RETURN_IF_ERROR(InferUses(model.graph, {t.id}, model.shapes));
  return RunFirstValues(model.graph, model.shapes,
                        ParametersOf(model.graph, t.id), std::move(also),
                        context);
}

absl::StatusOr<Context> RunMissingInit(Model& model, Tensor t,
                                       const Context& context,
                                       Assignments also) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  OCANNL_RETURN_IF_ERROR(InferUses(model.graph, {t.id}, model.shapes));
  std::vector<TensorId> missing;
  for (Tensor p : AllParameters(model, t)) {
    // A routine may have made an array that nothing has written yet.
    const auto info = context.InfoOf(p.node().name);
    if (!info.ok() || !info->written) missing.push_back(p.id);
  }
  return RunFirstValues(model.graph, model.shapes, missing, std::move(also),
                        context);
}

absl::Status SyncRun(Routine& routine) {
  OCANNL_RETURN_IF_ERROR(routine.Run());
  return Finish(routine);
}

absl::Status SyncRun(Routine& routine, absl::FunctionRef<absl::Status()> then) {
  OCANNL_RETURN_IF_ERROR(SequentialLoop(routine.statics(), [&] {
    absl::Status status = routine.Run();
    return status.ok() ? then() : status;
  }));
  return Finish(routine);
}

absl::StatusOr<Context> ForwardAndContext(Model& model, Tensor t,
                                          const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(Assignments forward, Forward(model, t));
  forward.name = "forward";
  OCANNL_ASSIGN_OR_RETURN(const Context started,
                          RunMissingInit(model, t, context));
  OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(started, forward, {}));
  OCANNL_RETURN_IF_ERROR(SyncRun(routine));
  return routine.context();
}

absl::StatusOr<NdArray> ForwardAndForget(Model& model, Tensor t,
                                         const Backend* backend) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  if (backend == nullptr) {
    return absl::InvalidArgumentError(
        "the backend is null; give one, such as that of FindTier(\"auto\")");
  }
  const Device device("forward", backend);
  Stream stream(&device);
  // A copy is what is asked for, of code that nobody else has or has not.
  const Tensor copy = StopGradient(t);
  ComputedBy kept = std::exchange(model.computed_by, {});
  absl::StatusOr<Context> context =
      ForwardAndContext(model, copy, Context(&stream));
  model.computed_by = std::move(kept);
  OCANNL_RETURN_IF_ERROR(context.status());
  return context->Read(copy.node().name);
}

}  // namespace ocannl::train
