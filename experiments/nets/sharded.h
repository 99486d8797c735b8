// SPDX-License-Identifier: Apache-2.0
//
// Sharded: the training of a Supervised (supervised.h) by DataParallel: each
// shard has its part of every batch, in this process or in another one.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       std::unique_ptr<Sharded> sharded,
//       MakeSharded(backend, digits, net, options, {.n_shards = 4}));
//   sharded->StartEpoch; sharded->Step for each batch and step
#ifndef EXPERIMENTS_NETS_SHARDED_H_
#define EXPERIMENTS_NETS_SHARDED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/nets/supervised.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/data/batch_order.h"
#include "ocannl/train/parallel/data_parallel.h"

namespace ocannl {

class Sharded {
 public:
  int64_t batches() const { return orders_[0].batches(); }
  train::DataParallel& training() { return *training_; }

  // To be called before the steps of an epoch, from 0.
  absl::Status StartEpoch(int64_t epoch);

  // The step of that number, on a batch of the epoch. The owner's arrays loss,
  // the mean of all shards', and learning_rate are those of the step then.
  absl::Status Step(int64_t batch, int64_t step);

  // Gives what was trained to a context with some of the same arrays.
  absl::Status CopyTo(const Context& context) const;

 private:
  friend absl::StatusOr<std::unique_ptr<Sharded>> MakeSharded(
      const Backend* backend, const Lessons& lessons, const MakeNet& make_net,
      const SupervisedOptions& options,
      const train::DataParallelOptions& shards);

  // The orders of all shards, one after the other.
  NdArray Orders(int64_t epoch) const;

  Lessons lessons_;
  std::vector<train::BatchOrder> orders_;  // of each shard
  // Of each shard of this process: the owner's is the first.
  std::vector<std::unique_ptr<train::Training>> trainings_;
  std::optional<train::DataParallel> training_;
};

// Seed, dtype, reduction and whether losses are merged are not those of
// `shards`. Errors: a batch that the shards do not divide; those of
// BatchOrder::Make and DataParallel::Make.
absl::StatusOr<std::unique_ptr<Sharded>> MakeSharded(
    const Backend* backend, const Lessons& lessons, const MakeNet& make_net,
    const SupervisedOptions& options, const train::DataParallelOptions& shards);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_SHARDED_H_
