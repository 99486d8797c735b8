// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/data/data_loader.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {

NdArray TakeRows(const NdArray& array, absl::Span<const int32_t> rows) {
  Dims dims = array.dims();
  const size_t row = array.bytes() / static_cast<size_t>(dims[0]);
  dims[0] = static_cast<int64_t>(rows.size());
  NdArray taken(array.dtype(), dims);
  std::byte* to = taken.data();
  for (int32_t k : rows) {
    CHECK(k >= 0 && k < array.dims()[0])
        << "TakeRows: there is no row " << k << " in an array of "
        << array.dims()[0];
    std::memcpy(to, array.data() + row * static_cast<size_t>(k), row);
    to += row;
  }
  return taken;
}

absl::StatusOr<std::unique_ptr<DataLoader>> DataLoader::Make(
    std::vector<NdArray> arrays, const BatchOptions& options, int ahead) {
  int64_t examples = -1;
  for (const NdArray& array : arrays) {
    const int64_t own = array.dims().empty() ? 0 : array.dims()[0];
    if (examples < 0) examples = own;
    if (own == examples && own > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("arrays of ", examples, " and of ", own,
                     " examples; the first axis must be the same"));
  }
  if (arrays.empty() || ahead < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        arrays.size(), " arrays, ", ahead, " batches ahead; give one or more"));
  }
  OCANNL_ASSIGN_OR_RETURN(BatchOrder order,
                          BatchOrder::Make(examples, options));
  return std::unique_ptr<DataLoader>(
      new DataLoader(std::move(arrays), order, static_cast<size_t>(ahead)));
}

Batch DataLoader::MakeBatch(int64_t step) {
  Batch batch = {.epoch = step / order_.batches(),
                 .number = step % order_.batches(),
                 .arrays = {}};
  if (epoch_ != batch.epoch) rows_ = order_.Epoch(epoch_ = batch.epoch);
  const auto part = static_cast<size_t>(order_.part_size());
  const auto rows = absl::MakeSpan(rows_).subspan(
      static_cast<size_t>(batch.number) * part, part);
  for (const NdArray& array : arrays_) {
    batch.arrays.push_back(
        std::make_shared<const NdArray>(TakeRows(array, rows)));
  }
  return batch;
}

void DataLoader::RunAhead() {
  while (pending_.size() < ahead_) {
    auto batch = std::make_shared<Batch>();
    worker_.Submit([this, batch, step = next_++] { *batch = MakeBatch(step); });
    pending_.push_back({std::move(batch), worker_.Record()});
  }
}

Batch DataLoader::Next() {
  RunAhead();
  pending_.front().done.Wait();
  if (pending_.front().batch->arrays.empty()) worker_.Drain();  // throws
  Batch batch = std::move(*pending_.front().batch);
  pending_.pop_front();
  RunAhead();
  return batch;
}

void DataLoader::Seek(int64_t step) {
  worker_.Drain();
  pending_.clear();
  next_ = step;
}

}  // namespace ocannl::train
