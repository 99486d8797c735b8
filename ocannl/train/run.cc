// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/run.h"

#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/first_values.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/train/sequential_loop.h"

namespace ocannl::train {
namespace {

absl::Status Finish(const Routine& routine) {
  Stream& stream = routine.context().stream();
  stream.Sync();
  OCANNL_RETURN_IF_ERROR(stream.status());
  return stream.device().backend().RunStatus();
}

std::vector<TensorId> Nodes(const Model& model, Tensor t) {
  return TopologicalOrder(model.graph, {t.id}, /*through_init=*/false);
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
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {t.id}, model.shapes));
  const std::vector<std::string> there = context.ArrayNames();
  std::vector<TensorId> missing;
  for (Tensor p : AllParameters(model, t)) {
    if (!absl::c_linear_search(there, p.node().name)) missing.push_back(p.id);
  }
  OCANNL_ASSIGN_OR_RETURN(Assignments forward, Forward(model, t));
  forward.name = "forward";
  OCANNL_ASSIGN_OR_RETURN(
      const Context started,
      RunFirstValues(model.graph, model.shapes, missing, {}, context));
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
  Rootness kept = std::exchange(model.rootness, {});
  absl::StatusOr<Context> context =
      ForwardAndContext(model, copy, Context(&stream));
  model.rootness = std::move(kept);
  OCANNL_RETURN_IF_ERROR(context.status());
  return context->Read(copy.node().name);
}

absl::Status EveryNonLiteralMaterialized(Model& model, Tensor t) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  for (TensorId id : Nodes(model, t)) {
    const TensorNode& node = model.graph[id];
    if (node.memory || std::holds_alternative<NumberSource>(node.source) ||
        std::holds_alternative<DataSource>(node.source)) {
      continue;
    }
    OCANNL_RETURN_IF_ERROR(model.graph.SetMemoryMode(
        id, {MemoryMode::kMaterialized, "EveryNonLiteralMaterialized"}));
  }
  return absl::OkStatus();
}

absl::Status AllHostToDevice(Model& model, Tensor t, const Context& context) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {t.id}, model.shapes));
  for (TensorId id : Nodes(model, t)) {
    const auto* data = std::get_if<DataSource>(&model.graph[id].source);
    if (data == nullptr) continue;
    const Array array = ValueArray(model.graph, model.shapes, id);
    OCANNL_RETURN_IF_ERROR(context.Write(array.name,
                                         data->data->Reshaped(array.dims),
                                         Context::Unused::kIsLeft));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::btree_map<std::string, NdArray>> AllDeviceToHost(
    const Model& model, Tensor t, const Context& context) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  const std::vector<std::string> there = context.ArrayNames();
  absl::btree_map<std::string, NdArray> values;
  for (TensorId id : Nodes(model, t)) {
    const std::string& name = model.graph[id].name;
    for (const std::string& array : {name, absl::StrCat(name, ".grad")}) {
      if (!absl::c_linear_search(there, array)) continue;
      OCANNL_ASSIGN_OR_RETURN(NdArray value, context.Read(array));
      values.emplace(array, std::move(value));
    }
  }
  return values;
}

std::vector<std::string> NeedsPriorContext(const Assignments& code) {
  absl::btree_set<std::string> needed;
  absl::flat_hash_set<int32_t> written;
  for (const Assignment& each : code.list) {
    const auto* assign = std::get_if<Assign>(&each);
    if (assign == nullptr) continue;
    auto read = [&](int32_t array) {
      const Array& of = code.arrays[array];
      if (written.contains(array) || of.data != nullptr || of.is_merge) return;
      needed.insert(of.name);
    };
    for (const Source& source : assign->sources) {
      WalkArrays(source, [&](const ReadArray& from) { read(from.array); });
    }
    if (assign->accum && !assign->reset) read(assign->lhs);
    written.insert(assign->lhs);
  }
  return {needed.begin(), needed.end()};
}

}  // namespace ocannl::train
