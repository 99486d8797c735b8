// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/data_parallel.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/code.h"
#include "ocannl/train/parallel/shards.h"

namespace ocannl::train {

struct DataParallel::Shard {
  explicit Shard(VirtualDevice& on) : device(on) {}

  const Context& context() const { return device.context; }

  // The parameters are those of `owner`, unless that is null.
  absl::Status Build(const LossOf& loss_of, Shard* owner);
  absl::Status ShareParameters(Shard& owner);
  std::string DescribeParameters();
  absl::StatusOr<double> LossValue() const;

  Model model;
  std::vector<Tensor> inputs;
  Tensor loss{};
  std::vector<Tensor> trained;  // the parameters that have a gradient
  VirtualDevice& device;
  std::optional<Routine> gradient;
};

namespace {

// The shards of each input.
absl::StatusOr<std::vector<std::vector<NdArray>>> ShardBatch(
    absl::Span<const BatchInput> inputs, int64_t n_shards) {
  if (inputs.empty()) {
    return absl::InvalidArgumentError("there are no inputs to shard");
  }
  std::vector<std::vector<NdArray>> batch;
  for (const BatchInput& input : inputs) {
    auto shards = ShardAlong(input.values, 0, n_shards);
    if (!shards.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input `", input.name, "`: ", shards.status().message()));
    }
    batch.push_back(*std::move(shards));
    const int64_t length = input.values.dims()[0];
    const int64_t first = inputs[0].values.dims()[0];
    if (length == first) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input `", input.name, "` has ", length, " examples, but input `",
        inputs[0].name, "` has ", first, "; all must have as many"));
  }
  return batch;
}

Tensor MakeInput(Graph& graph, const std::string& name, NdArray values) {
  ShapeSpec rows;
  rows[RowKind::kOutput] = Dims(values.dims().begin() + 1, values.dims().end());
  rows[RowKind::kInput] = Dims{};
  return Data(graph, name, std::move(values), rows);
}

}  // namespace

absl::Status DataParallel::Shard::Build(const LossOf& loss_of, Shard* owner) {
  OCANNL_ASSIGN_OR_RETURN(loss, loss_of(model, inputs));
  OCANNL_ASSIGN_OR_RETURN(Assignments code, GradUpdate(model, loss));
  OCANNL_ASSIGN_OR_RETURN(trained,
                          KeepGradients(Parameters(model, loss), code));
  for (Tensor input : inputs) {  // the loss need not depend on all
    OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {input.id}, model.shapes));
  }
  if (owner != nullptr) OCANNL_RETURN_IF_ERROR(ShareParameters(*owner));
  OCANNL_ASSIGN_OR_RETURN(gradient, ToRoutine(context(), code, {}));
  return absl::OkStatus();
}

absl::Status DataParallel::Shard::ShareParameters(Shard& owner) {
  const std::string own = DescribeParameters();
  const std::string owners = owner.DescribeParameters();
  if (own != owners) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the loss on ", device.device.name(), " has the parameters ", own,
        ", but that on ", owner.device.device.name(), " ", owners,
        "; build it alike for all shards"));
  }
  for (Tensor p : Parameters(model, loss)) {
    OCANNL_RETURN_IF_ERROR(context().Share(p.node().name, owner.context()));
  }
  return absl::OkStatus();
}

std::string DataParallel::Shard::DescribeParameters() {
  return absl::StrJoin(
      Parameters(model, loss), ", ", [&](std::string* out, Tensor p) {
        Array array = ValueArray(model.graph, model.shapes, p.id);
        absl::StrAppend(out, array.name, " : ",
                        DescribeArray(array.dtype, array.dims));
      });
}

absl::StatusOr<double> DataParallel::Shard::LossValue() const {
  OCANNL_ASSIGN_OR_RETURN(NdArray value, context().Read(loss.node().name));
  return value.AsDouble(0);
}

DataParallel::DataParallel() = default;
DataParallel::DataParallel(DataParallel&&) noexcept = default;
DataParallel::~DataParallel() = default;

absl::StatusOr<DataParallel> DataParallel::Make(
    const Backend* backend, const DataParallelOptions& options,
    absl::Span<const BatchInput> inputs, const LossOf& loss_of,
    const UpdateOf& update_of) {
  OCANNL_ASSIGN_OR_RETURN(auto batch, ShardBatch(inputs, options.n_shards));
  DataParallel made;
  made.devices_ = std::make_unique<VirtualDevices>(
      backend, static_cast<int>(options.n_shards), options.threads);
  for (int64_t s = 0; s < options.n_shards; ++s) {
    made.shards_.push_back(std::make_unique<Shard>((*made.devices_)[s]));
    Shard& shard = *made.shards_.back();
    Graph& graph = shard.model.graph;
    graph.set_seed(options.base_seed + static_cast<uint32_t>(s));
    for (size_t k = 0; k < inputs.size(); ++k) {
      shard.inputs.push_back(
          MakeInput(graph, inputs[k].name, std::move(batch[k][s])));
    }
    OCANNL_RETURN_IF_ERROR(
        shard.Build(loss_of, s > 0 ? made.shards_[0].get() : nullptr));
  }
  OCANNL_RETURN_IF_ERROR(made.LinkOwner(update_of));
  OCANNL_RETURN_IF_ERROR(made.LinkMerges(options.reduction));
  return made;
}

absl::Status DataParallel::LinkOwner(const UpdateOf& update_of) {
  Shard& owner = *shards_[0];
  parameters_ = Parameters(owner.model, owner.loss);
  OCANNL_ASSIGN_OR_RETURN(Assignments init,
                          InitParams(owner.model, owner.loss));
  OCANNL_ASSIGN_OR_RETURN(UpdateCode code, update_of(owner.model, owner.loss));
  OCANNL_RETURN_IF_ERROR(KeepGradients(parameters_, code.update).status());
  OCANNL_ASSIGN_OR_RETURN(
      Routine start,
      ToRoutine(owner.context(), Sequence("start", {init, code.init}), {}));
  OCANNL_RETURN_IF_ERROR(start.Run());
  OCANNL_ASSIGN_OR_RETURN(update_, ToRoutine(owner.context(), code.update, {}));
  return absl::OkStatus();
}

absl::Status DataParallel::LinkMerges(Reduction reduction) {
  Shard& owner = *shards_[0];
  std::vector<Context> contexts;
  for (const auto& shard : shards_) contexts.push_back(shard->context());
  OCANNL_ASSIGN_OR_RETURN(
      replicas_, Replicas::Make(owner.model, parameters_, owner.trained,
                                std::move(contexts)));
  if (reduction == Reduction::kSum || n_shards() == 1) return absl::OkStatus();
  Assignments mean;
  mean.name = "mean_of_gradients";
  for (Tensor p : owner.trained) {
    OCANNL_ASSIGN_OR_RETURN(
        UpdateCode code,
        ParseCode(owner.model, absl::StrCat("p.grad =/ ", n_shards()),
                  {.tensors = {{"p", p}}}));
    Append(mean, code.update);
  }
  OCANNL_RETURN_IF_ERROR(KeepGradients(owner.trained, mean).status());
  OCANNL_ASSIGN_OR_RETURN(mean_, ToRoutine(owner.context(), mean, {}));
  return absl::OkStatus();
}

std::vector<uint32_t> DataParallel::ShardSeeds() const {
  std::vector<uint32_t> seeds;
  for (const auto& shard : shards_) seeds.push_back(shard->model.graph.seed());
  return seeds;
}

absl::Status DataParallel::Step() {
  OCANNL_RETURN_IF_ERROR(RunGradients());
  OCANNL_RETURN_IF_ERROR(GradSync());
  return RunUpdate();
}

absl::Status DataParallel::RunGradients() {
  OCANNL_RETURN_IF_ERROR(replicas_->ShareParameters());
  // What this thread does itself comes last, at the same time as the others.
  for (const bool is_inline : {false, true}) {
    for (const auto& shard : shards_) {
      if (shard->device.is_inline != is_inline) continue;
      OCANNL_RETURN_IF_ERROR(shard->gradient->Run());
    }
  }
  return absl::OkStatus();
}

absl::Status DataParallel::GradSync() {
  OCANNL_RETURN_IF_ERROR(
      replicas_->MergeGradients(static_cast<int>(n_shards())));
  return mean_ ? mean_->Run() : absl::OkStatus();
}

absl::Status DataParallel::RunUpdate() { return update_->Run(); }

std::vector<const LoopProgram*> DataParallel::OwnerPrograms() const {
  return {&shards_[0]->gradient->program(), &update_->program()};
}

absl::Status DataParallel::SetBatch(absl::Span<const NdArray> values) {
  const std::vector<Tensor>& inputs = shards_[0]->inputs;
  if (values.size() != inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the batch has ", values.size(), " inputs, but this ",
                     "training has ", inputs.size()));
  }
  std::vector<BatchInput> named;
  for (size_t k = 0; k < values.size(); ++k) {
    named.push_back({inputs[k].node().name, values[k]});
  }
  OCANNL_ASSIGN_OR_RETURN(auto batch, ShardBatch(named, n_shards()));
  for (size_t k = 0; k < values.size(); ++k) {
    const NdArray& now = batch[k][0];
    const NdArray& made = *std::get<DataSource>(inputs[k].node().source).data;
    if (now.dtype() == made.dtype() && now.dims() == made.dims()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input `", named[k].name, "`: shards of this batch are ",
        DescribeArray(now.dtype(), now.dims()), ", but the training was made ",
        "for ", DescribeArray(made.dtype(), made.dims())));
  }
  for (int64_t s = 0; s < n_shards(); ++s) {
    Shard& shard = *shards_[s];
    for (size_t k = 0; k < values.size(); ++k) {
      const Array array =
          ValueArray(shard.model.graph, shard.model.shapes, shard.inputs[k].id);
      OCANNL_RETURN_IF_ERROR(
          shard.context().Write(array.name, batch[k][s].Reshaped(array.dims)));
    }
  }
  return absl::OkStatus();
}

absl::Status DataParallel::Set(absl::string_view name, int64_t value) {
  absl::Status result = update_->Set(name, value);
  if (!result.ok() && !absl::IsNotFound(result)) return result;
  for (const auto& shard : shards_) {
    absl::Status status = shard->gradient->Set(name, value);
    if (absl::IsNotFound(status)) continue;
    OCANNL_RETURN_IF_ERROR(status);
    result = status;
  }
  return result;
}

absl::StatusOr<double> DataParallel::OwnerLossValue() const {
  return shards_[0]->LossValue();
}

absl::StatusOr<std::vector<double>> DataParallel::ShardLosses() const {
  std::vector<double> losses;
  for (const auto& shard : shards_) {
    OCANNL_ASSIGN_OR_RETURN(losses.emplace_back(), shard->LossValue());
  }
  return losses;
}

absl::StatusOr<double> DataParallel::MeanLoss() const {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<double> losses, ShardLosses());
  return absl::c_accumulate(losses, 0.0) / static_cast<double>(n_shards());
}

const Context& DataParallel::OwnerContext() const {
  return shards_[0]->context();
}

absl::StatusOr<NdArray> DataParallel::ReadValues(Tensor tensor) const {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(shards_[0]->model, tensor));
  return OwnerContext().Read(tensor.node().name);
}

}  // namespace ocannl::train
