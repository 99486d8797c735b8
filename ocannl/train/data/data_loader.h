// SPDX-License-Identifier: Apache-2.0
//
// DataLoader: the batches of arrays, one after the other, which a thread of its
// own makes before they are asked for (prefetch).
//
//   OCANNL_ASSIGN_OR_RETURN(
//       auto loader, DataLoader::Make({images, classes}, {.batch_size = 50}));
//   loader->Seek(steps_done);
//   Batch batch = loader->Next();
//   batch.arrays[0];           // {50, ...}
#ifndef OCANNL_TRAIN_DATA_DATA_LOADER_H_
#define OCANNL_TRAIN_DATA_DATA_LOADER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/threads/worker.h"
#include "ocannl/train/data/batch_order.h"

namespace ocannl::train {

// Rows of arrays, of the first axis, as TrainerInputs take them.
struct Batch {
  int64_t epoch = 0;
  int64_t number = 0;  // in the epoch
  std::vector<std::shared_ptr<const NdArray>> arrays;
};

// The rows `rows` of an array, which are there.
NdArray TakeRows(const NdArray& array, absl::Span<const int32_t> rows);

// Neither moves nor copies. For one thread.
class DataLoader {
 public:
  // The arrays have the same first axis. At most `ahead` batches are ready
  // before they are asked for. Errors: arrays of other lengths, or none; those
  // of BatchOrder::Make; `ahead` below 1.
  static absl::StatusOr<std::unique_ptr<DataLoader>> Make(
      std::vector<NdArray> arrays, const BatchOptions& options, int ahead = 2);
  DataLoader(const DataLoader&) = delete;

  int64_t batches() const { return order_.batches(); }  // of an epoch

  // The next batch; epochs follow each other without end. Throws what making
  // it has thrown, such as std::bad_alloc.
  Batch Next();

  // The batch of step `step`, from 0, is the next one.
  void Seek(int64_t step);

 private:
  DataLoader(std::vector<NdArray> arrays, BatchOrder order, size_t ahead)
      : arrays_(std::move(arrays)), order_(order), ahead_(ahead) {}

  void RunAhead();
  Batch MakeBatch(int64_t step);

  struct Pending {
    std::shared_ptr<Batch> batch;
    Event done;
  };

  const std::vector<NdArray> arrays_;
  const BatchOrder order_;
  const size_t ahead_;
  int64_t next_ = 0;  // the step to be made
  std::deque<Pending> pending_;
  // Of the worker: the order of an epoch, at first none.
  int64_t epoch_ = -1;
  std::vector<int32_t> rows_;
  Worker worker_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DATA_DATA_LOADER_H_
