// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/digit_pairs.h"

#include <algorithm>
#include <vector>

#include "ocannl/train/data/batch_order.h"
#include "ocannl/train/data/data_loader.h"

namespace ocannl {
namespace {

// Every image is as often the first of a pair as the others, and the second.
Examples Pairs(const Examples& digits, int64_t count, uint32_t seed) {
  const int64_t images = digits.inputs.dims()[0];
  std::vector<int32_t> rows;
  NdArray sums(DType::kI32, {count});
  const auto classes = digits.classes.values<int32_t>();
  std::vector<int32_t> first, second;
  for (int64_t k = 0; k < count; ++k) {
    if (k % images == 0) {
      const int64_t round = 2 * (k / images);
      first = train::ShuffledOrder(images, seed, -2 - round);
      second = train::ShuffledOrder(images, seed, -3 - round);
    }
    const auto place = static_cast<size_t>(k % images);
    rows.push_back(first[place]);
    rows.push_back(second[place]);
    sums.values<int32_t>()[k] = classes[first[place]] + classes[second[place]];
  }
  const NdArray taken = train::TakeRows(digits.inputs, rows);
  Dims dims = {count, 2};
  dims.insert(dims.end(), taken.dims().begin() + 1, taken.dims().end());
  NdArray inputs(taken.dtype(), dims);
  std::copy(taken.data(), taken.data() + taken.bytes(), inputs.data());
  return {.inputs = std::move(inputs), .classes = std::move(sums)};
}

}  // namespace

Lessons PairsOf(const Lessons& digits, int64_t train_count, int64_t test_count,
                uint32_t seed) {
  return {.train = Pairs(digits.train, train_count, seed),
          .test = Pairs(digits.test, test_count, seed),
          .classes = 2 * digits.classes - 1};
}

}  // namespace ocannl
