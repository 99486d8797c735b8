// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/data_parallel.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/code.h"
#include "ocannl/train/option_check.h"
#include "ocannl/train/parallel/buckets.h"
#include "ocannl/train/run.h"

namespace ocannl::train {

struct DataParallel::Shard {
  explicit Shard(VirtualDevice& on) : device(on) {}

  const Context& context() const { return device.context; }

  // The parameters are those of `owner`, unless that is null.
  absl::Status Build(const LossOf& loss_of, Shard* owner,
                     const DataParallelOptions& options);
  // The parameters and the scale of the loss.
  std::vector<Tensor> Shared();
  absl::Status ShareParameters(Shard& owner);
  std::string DescribeParameters();
  absl::StatusOr<double> ReadCell(const std::string& array) const {
    OCANNL_ASSIGN_OR_RETURN(const NdArray value, context().Read(array));
    return value.AsDouble(0);
  }

  Model model;
  std::vector<Tensor> inputs;
  Tensor loss{};
  std::string own_loss;  // the array that merging does not change
  std::optional<LossScale> scale = {};
  std::vector<Tensor> trained;  // the parameters that have a gradient
  VirtualDevice& device;
  std::vector<Routine> gradients;         // the parts of one, in order
  std::vector<std::vector<int>> buckets;  // what each has done, in `trained`
};

absl::Status DataParallel::Shard::Build(const LossOf& loss_of, Shard* owner,
                                        const DataParallelOptions& options) {
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
  if (owner != nullptr) OCANNL_RETURN_IF_ERROR(ShareParameters(*owner));
  for (GradientPart& part : CutAtBuckets(code, trained, options.bucket_bytes)) {
    const Context before =
        gradients.empty() ? context() : gradients.back().context();
    OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(before, part.code, {}));
    gradients.push_back(std::move(routine));
    buckets.push_back(std::move(part.bucket));
  }
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
  for (Tensor p : Shared()) {
    OCANNL_RETURN_IF_ERROR(context().Share(p.node().name, owner.context()));
  }
  return absl::OkStatus();
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
        const bool is_trained =
            absl::c_any_of(trained, [&](Tensor t) { return t.id == p.id; });
        absl::StrAppend(out, array.name, " : ",
                        DescribeArray(array.dtype, array.dims),
                        is_trained ? "" : " (frozen)");
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
  OCANNL_ASSIGN_OR_RETURN(auto batch, ShardBatch(inputs, options.n_shards));
  DataParallel made;
  made.n_shards_ = options.n_shards;
  if (options.communicator != nullptr && options.communicator->ranks() > 1) {
    made.communicator_ = options.communicator;
  }
  const Communicator* ranks = made.communicator_;
  const int here = ReplicasHere(static_cast<int>(options.n_shards), ranks);
  if (ranks != nullptr && options.n_shards < ranks->ranks()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.n_shards, " shards are not enough for ",
                     ranks->ranks(), " ranks; make one for each at least"));
  }
  made.devices_ =
      std::make_unique<VirtualDevices>(backend, here, options.threads);
  made.team_ = made.devices_->MakeTeam();
  DataParallelOptions parts = options;
  if (ranks == nullptr) parts.bucket_bytes = 0;
  for (int k = 0; k < here; ++k) {
    const int64_t s = ranks == nullptr ? k : k * ranks->ranks() + ranks->rank();
    made.shards_.push_back(std::make_unique<Shard>((*made.devices_)[k]));
    Shard& shard = *made.shards_.back();
    Graph& graph = shard.model.graph;
    graph.set_seed(ShardSeed(options.base_seed, s));
    for (size_t i = 0; i < inputs.size(); ++i) {
      shard.inputs.push_back(
          MakeInput(graph, inputs[i].name, std::move(batch[i][s])));
    }
    OCANNL_RETURN_IF_ERROR(
        shard.Build(loss_of, k > 0 ? made.shards_[0].get() : nullptr, parts));
  }
  OCANNL_RETURN_IF_ERROR(made.LinkOwner(update_of));
  OCANNL_RETURN_IF_ERROR(made.CheckRanks(options, inputs));
  OCANNL_RETURN_IF_ERROR(made.LinkMerges(options));
  return made;
}

absl::Status DataParallel::LinkOwner(const UpdateOf& update_of) {
  Shard& owner = *shards_[0];
  parameters_ = AllParameters(owner.model, owner.loss);
  OCANNL_ASSIGN_OR_RETURN(UpdateCode code,
                          update_of(owner.model, owner.loss, owner.scale));
  OCANNL_RETURN_IF_ERROR(KeepGradients(parameters_, code.update).status());
  OCANNL_RETURN_IF_ERROR(
      RunInit(owner.model, owner.loss, std::move(code.init), owner.context())
          .status());
  OCANNL_ASSIGN_OR_RETURN(update_, ToRoutine(owner.context(), code.update, {}));
  return absl::OkStatus();
}

absl::Status DataParallel::CheckRanks(
    const DataParallelOptions& options,
    absl::Span<const BatchInput> inputs) const {
  if (communicator_ == nullptr) return absl::OkStatus();
  Shard& own = *shards_[0];
  std::string text = absl::StrCat(
      n_shards_, " ", own.gradients.size(), " ", Name(options.dtype), " ",
      static_cast<int>(options.reduction), " ", options.merge_loss, " ",
      options.base_seed, " ", own.DescribeParameters());
  for (const auto& [name, values] : inputs) {
    absl::StrAppend(&text, " ", name,
                    DescribeArray(values.dtype(), values.dims()), " ",
                    XXH64(values.data(), values.bytes(), 0));
  }
  return CheckAgree(*communicator_, "shards, seed, inputs or parameters",
                    XXH64(text.data(), text.size(), 0),
                    "start all with the same program and flags");
}

absl::Status DataParallel::LinkMerges(const DataParallelOptions& options) {
  Shard& owner = *shards_[0];
  ReplicasOptions merging{.communicator = communicator_};
  if (owner.gradients.size() > 1) merging.buckets = owner.buckets;
  if (options.merge_loss) merging.loss = owner.loss;
  if (options.reduction == Reduction::kMean) merging.divisor = n_shards();
  std::vector<Context> contexts;
  for (const auto& shard : shards_) contexts.push_back(shard->context());
  OCANNL_ASSIGN_OR_RETURN(
      replicas_, Replicas::Make(owner.model, owner.Shared(), owner.trained,
                                std::move(contexts), merging));
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
  OCANNL_RETURN_IF_ERROR(std::exchange(started_, true)
                             ? replicas_->ShareParameters()
                             : SyncRanks());
  const size_t parts = shards_[0]->gradients.size();
  for (size_t part = 0; part < parts; ++part) {
    // What this thread does itself comes last, at the same time as the others.
    // Record has it done now, if it is put off, while it counts as at work.
    const Team::SideBySide share;
    for (const bool is_inline : {false, true}) {
      for (const auto& shard : shards_) {
        if (shard->device.is_inline != is_inline) continue;
        OCANNL_RETURN_IF_ERROR(shard->gradients[part].Run());
        if (is_inline && team_ != nullptr) shard->context().stream().Record();
      }
    }
    if (parts == 1) continue;
    OCANNL_RETURN_IF_ERROR(
        replicas_->BeginMerge(part, static_cast<int>(n_shards())));
  }
  return absl::OkStatus();
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
    return shards_[0]->gradients.size() > 1
               ? replicas_->FinishMerge()
               : replicas_->MergeGradients(static_cast<int>(n_shards()));
  });
}

absl::Status DataParallel::RunUpdate() {
  if (!has_owner()) return absl::OkStatus();
  return RunOnAllThreads([&] { return update_->Run(); });
}

bool DataParallel::has_owner() const {
  return communicator_ == nullptr || communicator_->rank() == 0;
}

absl::Status DataParallel::SyncRanks() { return replicas_->SyncRanks(); }

std::vector<const LoopProgram*> DataParallel::OwnerPrograms() const {
  std::vector<const LoopProgram*> programs;
  for (const Routine& gradient : shards_[0]->gradients) {
    programs.push_back(&gradient.program());
  }
  programs.push_back(&update_->program());
  return programs;
}

absl::StatusOr<std::vector<Array>> DataParallel::OwnerState() const {
  Shard& owner = *shards_[0];
  return StateArrays(owner.model, owner.loss, OwnerPrograms());
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
    const std::optional<int> here = replicas_->Here(static_cast<int>(s));
    if (!here) continue;
    Shard& shard = *shards_[*here];
    for (size_t k = 0; k < values.size(); ++k) {
      const Array array =
          ValueArray(shard.model.graph, shard.model.shapes, shard.inputs[k].id);
      OCANNL_RETURN_IF_ERROR(
          shard.context().Write(array.name, batch[k][s].Reshaped(array.dims),
                                Context::Unused::kIsLeft));
    }
  }
  return absl::OkStatus();
}

absl::Status DataParallel::Set(absl::string_view name, int64_t value) {
  absl::Status result = update_->Set(name, value);
  if (!result.ok() && !absl::IsNotFound(result)) return result;
  for (const auto& shard : shards_) {
    for (Routine& gradient : shard->gradients) {
      absl::Status status = gradient.Set(name, value);
      if (absl::IsNotFound(status)) continue;
      OCANNL_RETURN_IF_ERROR(status);
      result = status;
    }
  }
  return result;
}

absl::StatusOr<double> DataParallel::OwnerLossValue() const {
  return shards_[0]->ReadCell(shards_[0]->loss.node().name);
}

absl::StatusOr<std::vector<double>> DataParallel::ShardLosses() const {
  std::vector<double> losses(n_shards());
  for (int s = 0; s < n_shards(); ++s) {
    const std::optional<int> here = replicas_->Here(s);
    if (!here) continue;
    const Shard& shard = *shards_[*here];
    OCANNL_ASSIGN_OR_RETURN(losses[s], shard.ReadCell(shard.own_loss));
  }
  if (communicator_ == nullptr) return losses;
  std::vector<uint64_t> bits;
  for (double loss : losses) bits.push_back(std::bit_cast<uint64_t>(loss));
  OCANNL_RETURN_IF_ERROR(replicas_->Gather(absl::MakeSpan(bits)));
  for (size_t s = 0; s < bits.size(); ++s) {
    losses[s] = std::bit_cast<double>(bits[s]);
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
