// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/data_parallel.h"

#include <xxhash.h>

#include <bit>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/option_check.h"
#include "ocannl/train/parallel/buckets.h"
#include "ocannl/train/parallel/round_robin.h"
#include "ocannl/train/run/run.h"

namespace ocannl::train {

// A model with its loss: that of one device, or of all that take turns.
struct DataParallel::Shard {
  // The code of the gradient.
  absl::StatusOr<Assignments> Build(const LossOf& loss_of,
                                    const DataParallelOptions& options);
  // The parameters and the scale of the loss.
  std::vector<Tensor> Shared();
  std::string DescribeParameters();

  Model model;
  std::vector<Tensor> inputs;
  Tensor loss{};
  std::string own_loss;  // the array that merging does not change
  std::optional<LossScale> scale = {};
  std::vector<Tensor> trained;  // the parameters that have a gradient
};

absl::StatusOr<Assignments> DataParallel::Shard::Build(
    const LossOf& loss_of, const DataParallelOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(loss, loss_of(model, inputs));
  OCANNL_ASSIGN_OR_RETURN(scale, LossScaleFor(options.dtype, model));
  OCANNL_ASSIGN_OR_RETURN(
      Assignments code,
      GradUpdate(model, loss, {.scaled_by = TensorOf(scale)}));
  OCANNL_ASSIGN_OR_RETURN(trained,
                          KeepGradients(Parameters(model, loss), code));
  own_loss = loss.node().name;
  if (options.merge_loss) {
    OCANNL_ASSIGN_OR_RETURN(
        const UpdateCode copy,
        ParseCode(model, "~~(x \"of this shard\"; { own } =: x)",
                  {.tensors = {{"x", loss}}}));
    Append(code, copy.update);
    own_loss = absl::StrCat("own_", own_loss);
    OCANNL_RETURN_IF_ERROR(Keep(code, own_loss));
  }
  for (Tensor input : inputs) {  // the loss need not depend on all
    OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {input.id}, model.shapes));
  }
  return code;
}

std::vector<Tensor> DataParallel::Shard::Shared() {
  std::vector<Tensor> shared = AllParameters(model, loss);
  if (scale) shared.push_back(scale->tensor);
  return shared;
}

std::string DataParallel::Shard::DescribeParameters() {
  return absl::StrJoin(
      AllParameters(model, loss), ", ", [&](std::string* out, Tensor p) {
        Array array = ValueArray(model.graph, model.shapes, p.id);
        absl::StrAppend(out, array.name, " : ",
                        DescribeArray(array.dtype, array.dims));
        if (absl::c_none_of(trained, [&](Tensor t) { return t.id == p.id; })) {
          absl::StrAppend(out, " (frozen)");
        }
      });
}

DataParallel::DataParallel() = default;
DataParallel::DataParallel(DataParallel&&) noexcept = default;
DataParallel::~DataParallel() = default;

absl::StatusOr<DataParallel> DataParallel::Make(
    const Backend* backend, const DataParallelOptions& options,
    absl::Span<const BatchInput> inputs, const LossOf& loss_of,
    const UpdateOf& update_of) {
  OCANNL_RETURN_IF_ERROR(CheckGiven(
      "DataParallel", {{"backend", backend != nullptr},
                       {"function of the loss", loss_of != nullptr},
                       {"function of the update", update_of != nullptr}}));
  DataParallel made;
  made.policy_ = options.policy;
  made.n_shards_ = options.n_shards;
  const bool one_model = options.policy == Policy::kRoundRobin;
  std::vector<std::vector<NdArray>> batch;
  if (inputs.empty() ? options.n_shards < 1 : one_model) {
    return UserError(inputs.size(), " inputs of ", options.n_shards,
                     " shards; give 1 shard, and make inputs with the loss");
  } else if (!inputs.empty()) {
    OCANNL_ASSIGN_OR_RETURN(batch, ShardBatch(inputs, options.n_shards));
  }
  OCANNL_RETURN_IF_ERROR(made.OpenDevices(backend, options));
  for (size_t k = 0; k < (one_model ? 1 : made.contexts_.size()); ++k) {
    const int64_t s = one_model ? 0 : made.NumberOf(k);
    Shard& shard = *made.shards_.emplace_back(std::make_unique<Shard>());
    shard.model.graph.set_seed(ShardSeed(options.base_seed, s));
    for (size_t i = 0; i < inputs.size(); ++i) {
      shard.inputs.push_back(
          MakeInput(shard.model.graph, inputs[i].name, std::move(batch[i][s])));
    }
    OCANNL_RETURN_IF_ERROR(made.LinkGradient(k, loss_of, options));
  }
  OCANNL_RETURN_IF_ERROR(made.LinkOwner(update_of));
  OCANNL_RETURN_IF_ERROR(made.CheckRanks(options, inputs));
  OCANNL_RETURN_IF_ERROR(made.LinkMerges(options));
  return made;
}

absl::Status DataParallel::OpenDevices(const Backend* backend,
                                       const DataParallelOptions& options) {
  Communicator* ranks = options.communicator;
  if (ranks != nullptr && ranks->ranks() > 1) communicator_ = ranks;
  const int here = ReplicasHere(static_cast<int>(n_shards_), communicator_);
  if (communicator_ != nullptr && n_shards_ < ranks->ranks()) {
    return UserError(n_shards_, " shards are not enough for ", ranks->ranks(),
                     " ranks; make one for each at least");
  }
  if (options.devices == nullptr) {
    owned_ = std::make_unique<VirtualDevices>(backend, here, options.threads);
  }
  devices_ = owned_ != nullptr ? owned_.get() : options.devices;
  if (devices_->size() != static_cast<size_t>(here)) {
    return UserError("there are ", devices_->size(), " devices for ", here,
                     " shards; give as many");
  }
  if (policy_ == Policy::kShards) team_ = devices_->MakeTeam();
  for (size_t k = 0; k < devices_->size(); ++k) {
    contexts_.push_back((*devices_)[k].context);
    order_.push_back(k);
  }
  if (options.owner != nullptr) contexts_[0] = *options.owner;
  absl::c_stable_partition(order_,
                           [&](size_t k) { return !(*devices_)[k].is_inline; });
  return absl::OkStatus();
}

absl::Status DataParallel::LinkGradient(size_t k, const LossOf& loss_of,
                                        const DataParallelOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const Assignments code,
                          shards_[k]->Build(loss_of, options));
  if (k > 0) OCANNL_RETURN_IF_ERROR(ShareParameters(k));
  std::vector<Context> contexts = {contexts_[k]};
  if (policy_ == Policy::kRoundRobin) contexts = contexts_;
  const bool cuts = communicator_ != nullptr && policy_ == Policy::kShards;
  std::vector<GradientPart> parts =
      CutAtBuckets(code, shards_[k]->trained, cuts ? options.bucket_bytes : 0);
  if (k > 0 && parts.size() != gradients_.size()) {
    return UserError("the losses of two shards differ; build them alike");
  }
  gradients_.resize(parts.size());
  for (size_t part = 0; part < parts.size(); ++part) {
    OCANNL_ASSIGN_OR_RETURN(std::vector<Routine> routines,
                            ToRoutines(contexts, parts[part].code, {}));
    for (size_t j = 0; j < routines.size(); ++j) {
      contexts[j] = routines[j].context();
      gradients_[part].push_back(std::move(routines[j]));
    }
    if (k == 0) buckets_.push_back(std::move(parts[part].bucket));
  }
  return absl::OkStatus();
}

absl::Status DataParallel::ShareParameters(size_t k) {
  const std::string own = shards_[k]->DescribeParameters();
  const std::string owners = shards_[0]->DescribeParameters();
  if (own != owners) {
    return UserError("the loss on ", (*devices_)[k].device.name(),
                     " has the parameters ", own, ", but that on ",
                     (*devices_)[0].device.name(), " ", owners,
                     "; build it alike for all shards");
  }
  for (Tensor p : shards_[k]->Shared()) {
    OCANNL_RETURN_IF_ERROR(contexts_[k].Share(p.node().name, OwnerContext()));
  }
  return absl::OkStatus();
}

absl::Status DataParallel::LinkOwner(const UpdateOf& update_of) {
  Shard& owner = *shards_[0];
  parameters_ = AllParameters(owner.model, owner.loss);
  OCANNL_ASSIGN_OR_RETURN(UpdateCode code,
                          update_of(owner.model, owner.loss, owner.scale));
  OCANNL_RETURN_IF_ERROR(KeepGradients(parameters_, code.update).status());
  OCANNL_RETURN_IF_ERROR(RunMissingInit(owner.model, owner.loss, OwnerContext(),
                                        std::move(code.init))
                             .status());
  OCANNL_ASSIGN_OR_RETURN(update_, ToRoutine(OwnerContext(), code.update, {}));
  return absl::OkStatus();
}

absl::Status DataParallel::CheckRanks(
    const DataParallelOptions& options,
    absl::Span<const BatchInput> inputs) const {
  if (communicator_ == nullptr) return absl::OkStatus();
  std::string text = absl::StrCat(
      n_shards_, " ", gradients_.size(), " ", Name(options.dtype), " ",
      static_cast<int>(options.reduction), " ", options.merge_loss, " ",
      options.base_seed, " ", shards_[0]->DescribeParameters());
  for (const auto& [name, values] : inputs) {
    absl::StrAppend(&text, " ", name, Describe(values), " ",
                    XXH64(values.data(), values.bytes(), 0));
  }
  return CheckAgree(*communicator_, "shards, seed, inputs or parameters",
                    XXH64(text.data(), text.size(), 0),
                    "start all with the same program and flags");
}

absl::Status DataParallel::LinkMerges(const DataParallelOptions& options) {
  Shard& owner = *shards_[0];
  ReplicasOptions merging{.communicator = communicator_, .buckets = buckets_};
  merging.copy_to_merge = options.copy_to_merge;
  if (options.merge_loss) merging.loss = owner.loss;
  if (options.reduction == Reduction::kMean) merging.divisor = n_shards();
  OCANNL_ASSIGN_OR_RETURN(
      replicas_, Replicas::Make(owner.model, owner.Shared(), owner.trained,
                                contexts_, merging));
  return absl::OkStatus();
}

int64_t DataParallel::NumberOf(size_t k) const {
  const auto here = static_cast<int64_t>(k);
  if (communicator_ == nullptr) return here;
  return here * communicator_->ranks() + communicator_->rank();
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
  OCANNL_RETURN_IF_ERROR(started_ ? replicas_->ShareParameters() : SyncRanks());
  started_ = true;
  for (size_t part = 0; part < gradients_.size(); ++part) {
    const Team::SideBySide share;
    for (size_t k : order_) {
      OCANNL_RETURN_IF_ERROR(gradients_[part][k].Run());
      // This thread runs now what is put off, while it counts as at work.
      const bool runs_now = team_ != nullptr && (*devices_)[k].is_inline;
      if (runs_now) contexts_[k].stream().Record();
    }
    if (gradients_.size() == 1) continue;
    OCANNL_RETURN_IF_ERROR(
        replicas_->BeginMerge(part, static_cast<int>(n_shards())));
  }
  return absl::OkStatus();
}

absl::Status DataParallel::RunRounds(
    absl::FunctionRef<absl::Status(int n)> then) {
  if (policy_ != Policy::kRoundRobin) {
    return UserError("RunRounds needs Policy::kRoundRobin; call Step");
  }
  OCANNL_RETURN_IF_ERROR(SyncRanks());
  return ParallelUpdate(absl::MakeSpan(gradients_[0]), *update_, *replicas_,
                        then);
}

absl::Status DataParallel::RunOnAllThreads(
    absl::FunctionRef<absl::Status()> work) {
  if (team_ == nullptr) return work();
  const Team::Scope scope(team_.get());
  OCANNL_RETURN_IF_ERROR(work());
  OwnerContext().stream().Record();  // not behind the end of the scope
  return absl::OkStatus();
}

absl::Status DataParallel::GradSync() {
  return RunOnAllThreads([&] {
    return gradients_.size() > 1
               ? replicas_->FinishMerge()
               : replicas_->MergeGradients(static_cast<int>(n_shards()));
  });
}

absl::Status DataParallel::RunUpdate() {
  if (!has_owner()) return absl::OkStatus();
  return RunOnAllThreads([&] { return update_->Run(); });
}

std::vector<const LoopProgram*> DataParallel::OwnerPrograms() const {
  std::vector<const LoopProgram*> programs;
  for (const auto& part : gradients_) programs.push_back(&part[0].program());
  programs.push_back(&update_->program());
  return programs;
}

absl::StatusOr<std::vector<Array>> DataParallel::OwnerState() const {
  return StateArrays(OwnerModel(), shards_[0]->loss, OwnerPrograms());
}

absl::Status DataParallel::SetBatch(absl::Span<const NdArray> values) {
  const std::vector<Tensor>& inputs = shards_[0]->inputs;
  if (values.size() != inputs.size()) {
    return UserError("the batch has ", values.size(), " inputs, but this ",
                     "training has ", inputs.size());
  }
  std::vector<BatchInput> named;
  for (size_t k = 0; k < values.size(); ++k) {
    named.push_back({inputs[k].node().name, values[k]});
  }
  OCANNL_ASSIGN_OR_RETURN(const auto batch, ShardBatch(named, n_shards()));
  for (size_t k = 0; k < values.size(); ++k) {
    const NdArray& now = batch[k][0];
    const NdArray& made = *std::get<DataSource>(inputs[k].node().source).data;
    if (now.dtype() == made.dtype() && now.dims() == made.dims()) continue;
    return UserError("input `", named[k].name, "`: shards of this batch are ",
                     Describe(now), ", but the training was made for ",
                     Describe(made));
  }
  for (size_t k = 0; k < shards_.size(); ++k) {
    const Shard& shard = *shards_[k];
    for (size_t i = 0; i < values.size(); ++i) {
      const Array array =
          ValueArray(shard.model.graph, shard.model.shapes, shard.inputs[i].id);
      OCANNL_RETURN_IF_ERROR(contexts_[k].Write(
          array.name, batch[i][NumberOf(k)].Reshaped(array.dims),
          Context::Unused::kIsLeft));
    }
  }
  return absl::OkStatus();
}

absl::Status DataParallel::Set(absl::string_view name, int64_t value) {
  absl::Status result = update_->Set(name, value);
  if (!result.ok() && !absl::IsNotFound(result)) return result;
  for (const std::vector<Routine>& part : gradients_) {
    for (size_t k = 0; k < part.size(); ++k) {
      absl::StatusOr<StaticRef> index = part[k].Static(name);
      if (!index.ok()) continue;  // none of that name
      const bool is_own = policy_ == Policy::kRoundRobin && !index->range();
      result = index->Set(value + (is_own ? NumberOf(k) : 0));
      OCANNL_RETURN_IF_ERROR(result);
    }
  }
  return result;
}

absl::StatusOr<double> DataParallel::ReadCell(size_t k,
                                              const std::string& array) const {
  OCANNL_ASSIGN_OR_RETURN(const NdArray value, contexts_[k].Read(array));
  return value.AsDouble(0);
}

absl::StatusOr<double> DataParallel::OwnerLossValue() const {
  return ReadCell(0, shards_[0]->loss.node().name);
}

absl::StatusOr<std::vector<double>> DataParallel::ShardLosses() const {
  std::vector<uint64_t> bits(n_shards());
  for (size_t k = 0; k < contexts_.size(); ++k) {
    const Shard& shard = *shards_[shards_.size() > 1 ? k : 0];
    OCANNL_ASSIGN_OR_RETURN(const double loss, ReadCell(k, shard.own_loss));
    bits[NumberOf(k)] = std::bit_cast<uint64_t>(loss);
  }
  OCANNL_RETURN_IF_ERROR(replicas_->Gather(absl::MakeSpan(bits)));
  std::vector<double> losses;
  for (uint64_t loss : bits) losses.push_back(std::bit_cast<double>(loss));
  return losses;
}

absl::StatusOr<double> DataParallel::MeanLoss() const {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<double> losses, ShardLosses());
  return absl::c_accumulate(losses, 0.0) / static_cast<double>(n_shards());
}

Model& DataParallel::OwnerModel() const { return shards_[0]->model; }

absl::StatusOr<NdArray> DataParallel::ReadValues(Tensor tensor) const {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(shards_[0]->model, tensor));
  return OwnerContext().Read(tensor.node().name);
}

}  // namespace ocannl::train
