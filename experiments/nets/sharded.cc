// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/sharded.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "experiments/nets/supervised_code.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl {

NdArray Sharded::Orders(int64_t epoch) const {
  std::vector<int32_t> rows;
  for (const train::BatchOrder& order : orders_) {
    absl::c_copy(order.Epoch(epoch), std::back_inserter(rows));
  }
  const int64_t part = orders_[0].part_size();
  return NdArray::Of<int32_t>({static_cast<int64_t>(rows.size()) / part, part},
                              rows);
}

absl::Status Sharded::StartEpoch(int64_t epoch) {
  return training_->SetBatch({Orders(epoch)});
}

absl::Status Sharded::Step(int64_t batch, int64_t step) {
  OCANNL_RETURN_IF_ERROR(training_->Set("batch_n", batch));
  const absl::Status numbered = training_->Set("step", step);
  // Nothing may depend on it.
  if (!numbered.ok() && !absl::IsNotFound(numbered)) return numbered;
  return training_->Step();
}

absl::Status Sharded::CopyTo(const Context& context) const {
  const std::vector<std::string> names = context.ArrayNames();
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Array> state,
                          training_->OwnerState());
  for (const Array& array : state) {
    if (!absl::c_binary_search(names, array.name)) continue;
    OCANNL_RETURN_IF_ERROR(context.Copy(array.name, training_->OwnerContext()));
  }
  return absl::OkStatus();
}

namespace {

// Error: another rank has others.
absl::Status CheckExamples(train::Communicator& ranks,
                           const Examples& examples) {
  uint64_t bits = 0;
  for (const NdArray* array : {&examples.inputs, &examples.classes}) {
    bits = XXH64(array->data(), array->bytes(), bits);
  }
  return train::CheckAgree(ranks, "examples", bits,
                           "start all with the same flags and files");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sharded>> MakeSharded(
    const Backend* backend, const Lessons& lessons, const MakeNet& make_net,
    const SupervisedOptions& options,
    const train::DataParallelOptions& shards) {
  auto made = std::make_unique<Sharded>();
  made->lessons_ = lessons;
  const auto count = static_cast<int>(shards.n_shards);
  for (int shard = 0; shard < count; ++shard) {
    OCANNL_ASSIGN_OR_RETURN(
        train::BatchOrder order,
        train::BatchOrder::Make(lessons.train.inputs.dims()[0],
                                {.batch_size = options.batch_size,
                                 .shuffle = options.shuffle,
                                 .seed = options.seed,
                                 .rank = shard,
                                 .ranks = count}));
    made->orders_.push_back(std::move(order));
  }
  if (shards.communicator != nullptr) {
    OCANNL_RETURN_IF_ERROR(CheckExamples(*shards.communicator, lessons.train));
  }
  Sharded& sharded = *made;
  auto loss_of = [&](train::Model& model, absl::Span<const Tensor> inputs) {
    Graph& graph = model.graph;
    const int32_t batch = graph.AddStatic("batch_n", sharded.batches());
    sharded.trainings_.push_back(std::make_unique<train::Training>(
        train::Training{.step = graph.AddStatic("step", std::nullopt)}));
    const Batches examples(graph, sharded.lessons_.train, "train", 1);
    return absl::StatusOr<Tensor>(
        TrainingLoss(make_net(ScopeOf(graph, options)),
                     examples.At(Einsum1("|b => b|", Slice(inputs[0], batch))),
                     lessons.classes, sharded.trainings_.back().get()));
  };
  auto update_of = [&](train::Model& model, Tensor loss,
                       const std::optional<train::LossScale>& scale) {
    return TrainingUpdate(model, loss, *sharded.trainings_[0], options,
                          options.epochs * sharded.batches(), scale);
  };
  train::DataParallelOptions parallel = shards;
  parallel.reduction = train::Reduction::kMean;
  parallel.base_seed = options.seed;
  parallel.merge_loss = true;
  parallel.dtype = options.dtype;
  OCANNL_ASSIGN_OR_RETURN(
      train::DataParallel training,
      train::DataParallel::Make(backend, parallel,
                                {{"train_order", made->Orders(0)}}, loss_of,
                                update_of));
  made->training_.emplace(std::move(training));
  return made;
}

}  // namespace ocannl
