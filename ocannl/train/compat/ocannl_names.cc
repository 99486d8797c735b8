// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/compat/ocannl_names.h"

#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/train/run/sequential_loop.h"

namespace ocannl::train {
namespace {

std::vector<TensorId> Nodes(const Model& model, Tensor t) {
  return TopologicalOrder(model.graph, {t.id}, /*through_init=*/false);
}

}  // namespace

absl::StatusOr<Updaten> MakeUpdaten(Model& model, Tensor loss,
                                    const UpdatenOptions& options) {
  auto make = [&] {
    return GradUpdate(model, loss,
                      {.keep_gradients = options.setup_for_parallel});
  };
  OCANNL_ASSIGN_OR_RETURN(Assignments code,
                          options.disable_rootness_check
                              ? WithoutRootnessCheck(model, make)
                              : make());
  return Updaten{.loss = loss,
                 .label = loss.node().name,
                 .params = Parameters(model, loss),
                 .fwd_bprop = std::move(code)};
}

bool KnownNotParam(const Model& model, Tensor t) {
  if (!CheckIsIn(model, t).ok()) return true;
  const TensorNode& node = t.node();
  return !std::holds_alternative<ParamSource>(node.source) ||
         !node.has_gradient || model.frozen.contains(t.id) ||
         !IsKept(node.memory);
}

absl::Status RoundRobinDryRun(absl::Span<const StaticRef> statics,
                              int n_workers,
                              absl::FunctionRef<absl::Status(int n)> dry_sync) {
  if (n_workers < 1) {
    return UserError("RoundRobinDryRun: there are ", n_workers,
                     " workers; give 1 or more");
  }
  int64_t left = 1;  // combinations
  for (const StaticRef& index : statics) left *= index.range().value_or(1);
  int n = 0;  // in this round
  return SequentialLoop(statics, [&]() -> absl::Status {
    ++n;
    if (--left > 0 && n < n_workers) return absl::OkStatus();
    return dry_sync(std::exchange(n, 0));
  });
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
