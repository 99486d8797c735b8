// SPDX-License-Identifier: Apache-2.0
//
// DataParallel: a model trained on several devices in parallel, each with its
// shard of the batch.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       DataParallel training,
//       DataParallel::Make(
//           backend, {.n_shards = 4}, {{"x", points}, {"y", classes}},
//           [](Model& model, absl::Span<const Tensor> batch) {
//             Mlp net({&model.graph, "net"}, {.sizes = {16, 1}});
//             return MeanSquaredError(net(batch[0]), batch[1]);
//           },
//           [](Model& model, Tensor loss) {
//             return SgdUpdate(model, loss, Number(model.graph, 0.1), {});
//           }));
//   for (int k = 0; k < 100; ++k) OCANNL_RETURN_IF_ERROR(training.Step());
//
// The number of shards determines the bits. They are the same on every tier and
// run, with any number of threads and processes. Processes are the ranks of a
// Communicator, which all call the same functions with the same arguments.
// Other numbers of shards add in another order.
#ifndef OCANNL_TRAIN_PARALLEL_DATA_PARALLEL_H_
#define OCANNL_TRAIN_PARALLEL_DATA_PARALLEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/loss_scale.h"
#include "ocannl/train/parallel/replicas.h"
#include "ocannl/train/parallel/shards.h"

namespace ocannl::train {

// What the owner's update gets of the shards' gradients: their sum, or that
// divided by the number of shards. The mean is right where each loss is a mean
// over the examples of its shard, the sum where it is a sum. Those of narrow
// floats are added up in f32 and rounded once.
enum class Reduction : uint8_t { kSum, kMean };

// How the work of a step is dealt to the devices.
enum class Policy : uint8_t {
  kShards,  // each has a model of its own, and its part of the inputs
  // All have one model. They take turns in the values of its static indices
  // (RunRounds). The inputs are those that the function of the loss makes.
  kRoundRobin,
};

struct DataParallelOptions {
  Policy policy = Policy::kShards;
  int64_t n_shards = 1;  // of all ranks: shard s is that of rank s mod ranks
  Reduction reduction = Reduction::kMean;
  // The seed of the graph of shard 0. That of another shard is made of it and
  // of the shard's number, by Threefry.
  uint32_t base_seed = 42;
  // That run shards at once, then merge and update together; 0: as many as
  // there are processors. Where it is 1, the thread that calls does all.
  int threads = 0;
  // One for each shard of this process. They must outlive the training. Null:
  // it makes its own, which so many `threads` serve.
  VirtualDevices* devices = nullptr;
  // Null: this process has all shards. It must outlive the training.
  Communicator* communicator = nullptr;
  // Where the owner's parameters are; null: in the context of the first device.
  const Context* owner = nullptr;
  // The loss in the owner's context becomes that of all shards, reduced as
  // gradients are. It can be read there without waiting for other shards.
  bool merge_loss = false;
  bool copy_to_merge = false;  // as in ReplicasOptions
  // With other ranks: gradients are merged, in parts of so many bytes or more,
  // while the rest of them is computed (buckets.h); 0: when all are.
  int64_t bucket_bytes = 0;
  // What the loss is computed with: where that needs it, gradients are those of
  // a scaled loss (optim/loss_scale.h), of one scale for all shards.
  DType dtype = DType::kF32;
};

// The loss, of one cell, of a shard's part of the inputs: written once, called
// for each shard with a model of its own, or once with the only one.
using LossOf = std::function<absl::StatusOr<Tensor>(
    Model& model, absl::Span<const Tensor> inputs)>;

// Not thread-safe. Shard 0 is the owner of the parameters, which the others
// share, those of other ranks as of each step. There, what is the owner's here
// is that of their first shard.
class DataParallel {
 public:
  DataParallel(DataParallel&&) noexcept;
  ~DataParallel();

  // Builds and links all shards, and gives those of the owner's parameters that
  // have no values their first ones. Without inputs, the function of the loss
  // makes them. `backend` must outlive it. Errors: those of ShardAlong,
  // GradUpdate, ToRoutine and the two functions; inputs of different lengths;
  // no shards; a loss with other parameters on another shard. Also errors:
  // fewer shards than ranks; ranks with different trainings.
  static absl::StatusOr<DataParallel> Make(const Backend* backend,
                                           const DataParallelOptions& options,
                                           absl::Span<const BatchInput> inputs,
                                           const LossOf& loss_of,
                                           const UpdateOf& update_of);

  int64_t n_shards() const { return n_shards_; }
  std::vector<uint32_t> ShardSeeds() const;  // of this process

  // Whether this process has the owner: it is rank 0, or the only one.
  bool has_owner() const { return replicas_->Here(0).has_value(); }

  // RunGradients, GradSync, RunUpdate. With several threads, it returns before
  // the work is done; reads wait for it. Errors: those of Routine::Run; no
  // parameter has changed then.
  absl::Status Step();

  // The parts of Step, for training loops that do more between them. In order:
  // computes all shards' losses and gradients; merges the gradients into the
  // owner's and reduces them; runs the owner's update.
  absl::Status RunGradients();
  absl::Status GradSync();
  absl::Status RunUpdate();

  // SyncRanks, and ParallelUpdate (round_robin.h) of the shards: a step for
  // each round of values of the static indices, and a call of `then`. Errors:
  // those of the three; a policy other than kRoundRobin.
  absl::Status RunRounds(absl::FunctionRef<absl::Status(int n)> then);

  // Other inputs, of the same dtypes and dims and in the same order as those
  // that were given to Make. Error, with nothing changed: they are not.
  absl::Status SetBatch(absl::Span<const NdArray> values);

  // Gives all ranks the owner's parameters, as each step begins to, and checks
  // that they have the same bits then: to be called after the last step. Error:
  // they have not; those of messages.
  absl::Status SyncRanks() { return replicas_->SyncRanks(); }

  // Sets a static index of all code that has it. With kRoundRobin, shard s gets
  // value + s of an index without a range, such as the step of random numbers.
  // Errors, with nothing changed: no code has it; a value out of range.
  absl::Status Set(absl::string_view name, int64_t value);

  // The loss in the owner's context after the latest step: with merge_loss, of
  // all shards, on rank 0; else of the owner's shard. Error: there was no step.
  absl::StatusOr<double> OwnerLossValue() const;

  // The mean of ShardLosses, with any reduction and merge_loss: the loss of the
  // whole batch, if each is the mean over its shard. Errors: likewise.
  absl::StatusOr<double> MeanLoss() const;

  // The loss of each shard of all ranks in that step, in their order; all ranks
  // must ask for it. Errors: likewise, and those of messages.
  absl::StatusOr<std::vector<double>> ShardLosses() const;

  // Returns when the owner's work is done. Values are read on demand.
  void SyncParamsToHost() const { OwnerContext().stream().Sync(); }

  // The owner's parameters (AllParameters), its model, its context, and the
  // values that a tensor of its model has there. Errors: it has none; a tensor
  // of another model.
  const std::vector<Tensor>& OwnerParams() const { return parameters_; }
  Model& OwnerModel() const;
  const Context& OwnerContext() const { return contexts_[0]; }
  absl::StatusOr<NdArray> ReadValues(Tensor tensor) const;

  // The programs of a step on the owner, in order.
  std::vector<const LoopProgram*> OwnerPrograms() const;

  // What a checkpoint of the owner's context has: StateArrays of these programs
  // and of the loss (checkpoint/checkpoint.h), frozen parameters among them.
  // Other shards' steps need no more. Errors: those of StateArrays.
  absl::StatusOr<std::vector<Array>> OwnerState() const;

 private:
  struct Shard;

  DataParallel();
  absl::Status OpenDevices(const Backend* backend,
                           const DataParallelOptions& options);
  // The code of shards_[k].
  absl::Status LinkGradient(size_t k, const LossOf& loss_of,
                            const DataParallelOptions& options);
  absl::Status ShareParameters(size_t k);
  absl::Status LinkOwner(const UpdateOf& update_of);
  absl::Status LinkMerges(const DataParallelOptions& options);
  // Runs `work`, of the owner's stream, with the workers as its team: they
  // would wait for what it computes.
  absl::Status RunOnAllThreads(absl::FunctionRef<absl::Status()> work);
  // Error: other ranks make another training.
  absl::Status CheckRanks(const DataParallelOptions& options,
                          absl::Span<const BatchInput> inputs) const;

  // Of device k of this process: its number among the shards of all ranks.
  int64_t NumberOf(size_t k) const;
  absl::StatusOr<double> ReadCell(size_t k, const std::string& array) const;

  Policy policy_ = Policy::kShards;
  int64_t n_shards_ = 0;
  Communicator* communicator_ = nullptr;   // null: there is one rank
  std::unique_ptr<VirtualDevices> owned_;  // outlive what runs on them
  VirtualDevices* devices_ = nullptr;
  std::unique_ptr<Team> team_;  // of their threads, if several
  std::vector<Context> contexts_;
  std::vector<size_t> order_;  // of the devices: those of workers go first
  std::vector<std::unique_ptr<Shard>> shards_;
  // By part and device; the gradients that each part has computed.
  std::vector<std::vector<Routine>> gradients_;
  std::vector<std::vector<int>> buckets_;
  std::vector<Tensor> parameters_;
  std::optional<Replicas> replicas_;
  std::optional<Routine> update_;
  bool started_ = false;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_DATA_PARALLEL_H_
