// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/data/batch_order.h"

#include <limits>
#include <numeric>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/ops/random.h"

namespace ocannl::train {
namespace {

// Numbers below a bound: number `k` of the order of `count` numbers. Each seed
// and epoch has a key of its own. The bias of the multiplication is below 2^-32
// (Lemire, "Fast random integer generation in an interval", 2019, without its
// rejection).
uint64_t NumberBelow(uint64_t bound, uint32_t seed, int64_t epoch,
                     uint64_t count, uint64_t k) {
  const std::array<uint32_t, 4> block = Threefry(
      ThreefryVariant::kCrypto,
      {seed, static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32),
       0x6f726472},  // "ordr"
      {static_cast<uint32_t>(k), static_cast<uint32_t>(k >> 32),
       static_cast<uint32_t>(count), static_cast<uint32_t>(count >> 32)});
  const uint64_t word = uint64_t{block[0]} << 32 | block[1];
  return absl::Uint128High64(absl::uint128(word) * bound);
}

std::vector<int32_t> InOrder(int64_t count) {
  std::vector<int32_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::vector<int32_t> ShuffledOrder(int64_t count, uint32_t seed,
                                   int64_t epoch) {
  std::vector<int32_t> all = InOrder(count);
  for (int64_t k = count - 1; k > 0; --k) {
    std::swap(all[k], all[NumberBelow(k + 1, seed, epoch, count, k)]);
  }
  return all;
}

absl::StatusOr<BatchOrder> BatchOrder::Make(int64_t examples,
                                            const BatchOptions& options) {
  const int64_t size = options.batch_size;
  const bool is_full = examples >= size || !options.drop_last;
  if (examples < 1 || size < 1 || !is_full ||
      examples > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("batches of ", size, " of ", examples,
                     " examples; there must be a batch at least"));
  }
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks ||
      size % options.ranks != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", options.rank, " of ", options.ranks, ", and batches of ", size,
        "; each rank must have as many examples of a batch as the others"));
  }
  const int64_t all = options.drop_last ? examples : examples + size - 1;
  return BatchOrder(examples, all / size, options);
}

int64_t BatchOrder::part_size() const {
  return options_.batch_size / options_.ranks;
}

std::vector<int32_t> BatchOrder::Epoch(int64_t epoch) const {
  const std::vector<int32_t> all =
      options_.shuffle ? ShuffledOrder(examples_, options_.seed, epoch)
                       : InOrder(examples_);
  const int64_t part = part_size();
  std::vector<int32_t> own;
  own.reserve(batches_ * part);
  for (int64_t batch = 0; batch < batches_; ++batch) {
    const int64_t first = batch * options_.batch_size + options_.rank * part;
    for (int64_t k = first; k < first + part; ++k) {
      own.push_back(all[k % examples_]);
    }
  }
  return own;
}

}  // namespace ocannl::train
