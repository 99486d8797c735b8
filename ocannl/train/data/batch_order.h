// SPDX-License-Identifier: Apache-2.0
//
// BatchOrder: which examples each batch of each epoch has. It is a function of
// the seed, the epoch and the number of the batch: training goes on at any step
// without a state to save.
//
//   OCANNL_ASSIGN_OR_RETURN(auto order,
//                           BatchOrder::Make(1797, {.batch_size = 50}));
//   order.Epoch(3);        // the numbers of the examples, in order
//
// Shuffled by Fisher and Yates (Knuth, The Art of Computer Programming, volume
// 2, algorithm P), with numbers of Threefry.
#ifndef OCANNL_TRAIN_DATA_BATCH_ORDER_H_
#define OCANNL_TRAIN_DATA_BATCH_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace ocannl::train {

// The numbers from 0 to `count` - 1, in an independent order for each count,
// seed and epoch. Epochs from 0 on are those of BatchOrder: with one below 0, a
// split of the data does not depend on the order of an epoch.
std::vector<int32_t> ShuffledOrder(int64_t count, uint32_t seed,
                                   int64_t epoch = -1);

struct BatchOptions {
  int64_t batch_size = 1;  // of all ranks together
  bool shuffle = true;
  uint32_t seed = 0;
  // A last batch that is not full: left out, or with the first ones of the
  // epoch again, as all batches have one size.
  bool drop_last = true;
  int rank = 0;  // has its part of each batch
  int ranks = 1;
};

class BatchOrder {
 public:
  // Errors: no examples; fewer than a batch, unless drop_last is false; a size
  // that is not a multiple of the ranks; no such rank.
  static absl::StatusOr<BatchOrder> Make(int64_t examples,
                                         const BatchOptions& options);

  int64_t batches() const { return batches_; }  // of an epoch
  int64_t part_size() const;  // how many examples of a batch a rank has

  // The examples of this rank in the epoch, from 0: part_size() of each batch.
  std::vector<int32_t> Epoch(int64_t epoch) const;

 private:
  BatchOrder(int64_t examples, int64_t batches, const BatchOptions& options)
      : examples_(examples), batches_(batches), options_(options) {}

  int64_t examples_;
  int64_t batches_;
  BatchOptions options_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DATA_BATCH_ORDER_H_
