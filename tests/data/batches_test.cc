// SPDX-License-Identifier: Apache-2.0
//
// The order of examples, and the batches that a loader makes of it.
#include <algorithm>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/train/data/batch_order.h"
#include "ocannl/train/data/data_loader.h"
#include "tests/support/status_matchers.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BatchOrder Order(int64_t examples, const BatchOptions& options) {
  auto order = BatchOrder::Make(examples, options);
  CHECK_OK(order.status());
  return *order;
}

TEST(BatchOrderTest, EachExampleOnceAnEpochInItsOwnOrder) {
  const BatchOrder order = Order(100, {.batch_size = 10, .seed = 3});
  EXPECT_EQ(order.batches(), 10);
  std::vector<int32_t> first = order.Epoch(0), second = order.Epoch(1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, order.Epoch(0));
  EXPECT_NE(first, Order(100, {.batch_size = 10, .seed = 4}).Epoch(0));
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, Order(100, {.batch_size = 10, .shuffle = false}).Epoch(5));
  EXPECT_EQ(first, second);
}

TEST(TakeRowsTest, DoesNotReadBehindTheArray) {
  const NdArray array = NdArray::Of<float>({3, 1}, {5, 6, 7});
  const std::vector<int32_t> last = {2}, none = {0, 3};
  EXPECT_EQ(TakeRows(array, last).values<float>()[0], 7);
  EXPECT_DEATH(TakeRows(array, none), "no row 3 in an array of 3");
}

// The bits of a run depend on it: it may not change.
TEST(BatchOrderTest, OfASeed) {
  EXPECT_THAT(Order(8, {.seed = 1}).Epoch(0),
              ElementsAre(3, 6, 4, 5, 0, 1, 2, 7));
}

TEST(BatchOrderTest, AllOrdersAreAsLikely) {
  std::vector<int> seen(6);
  for (uint32_t seed = 0; seed < 6000; ++seed) {
    const std::vector<int32_t> epoch = Order(3, {.seed = seed}).Epoch(7);
    ++seen[epoch[0] * 2 + (epoch[1] > epoch[2])];
  }
  // Four standard deviations of 29.
  for (int count : seen) EXPECT_NEAR(count, 1000, 116);
}

TEST(BatchOrderTest, LastBatches) {
  EXPECT_EQ(Order(7, {.batch_size = 3}).batches(), 2);
  const BatchOrder whole =
      Order(7, {.batch_size = 3, .shuffle = false, .drop_last = false});
  EXPECT_EQ(whole.batches(), 3);
  EXPECT_THAT(whole.Epoch(0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 0, 1));
  const BatchOrder few =
      Order(2, {.batch_size = 5, .shuffle = false, .drop_last = false});
  EXPECT_THAT(few.Epoch(0), ElementsAre(0, 1, 0, 1, 0));
}

TEST(BatchOrderTest, RanksHaveTheirPartsOfTheSameBatches) {
  const std::vector<int32_t> all =
      Order(20, {.batch_size = 6, .seed = 9}).Epoch(2);
  for (int rank = 0; rank < 3; ++rank) {
    const BatchOrder order =
        Order(20, {.batch_size = 6, .seed = 9, .rank = rank, .ranks = 3});
    EXPECT_EQ(order.part_size(), 2);
    const std::vector<int32_t> own = order.Epoch(2);
    for (int batch = 0; batch < 3; ++batch) {
      for (int k = 0; k < 2; ++k) {
        EXPECT_EQ(own[2 * batch + k], all[6 * batch + 2 * rank + k]);
      }
    }
  }
}

TEST(BatchOrderTest, Errors) {
  EXPECT_THAT(BatchOrder::Make(3, {.batch_size = 4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("batches of 4 of 3 examples")));
  EXPECT_THAT(
      BatchOrder::Make(0, {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of 0 examples")));
  EXPECT_THAT(BatchOrder::Make(8, {.batch_size = 4, .rank = 0, .ranks = 3}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("rank 0 of 3, and batches of 4")));
  EXPECT_THAT(
      BatchOrder::Make(8, {.batch_size = 4, .rank = 2, .ranks = 2}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2 of 2")));
}

TEST(DataLoaderTest, BatchesInOrderFromAnyStep) {
  const NdArray x =
      NdArray::Of<float>({5, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41});
  const NdArray y = NdArray::Of<int32_t>({5}, {0, 1, 2, 3, 4});
  const BatchOptions options = {.batch_size = 2, .seed = 5};
  const BatchOrder order = Order(5, options);
  auto loader = DataLoader::Make({x, y}, options, 3);
  ASSERT_THAT(loader, IsOk());
  auto check = [&](int64_t step) {
    const Batch batch = (*loader)->Next();
    EXPECT_EQ(batch.epoch, step / 2);
    EXPECT_EQ(batch.number, step % 2);
    const std::vector<int32_t> epoch = order.Epoch(step / 2);
    ASSERT_EQ(batch.arrays[0]->dims(), (Dims{2, 2}));
    for (int k = 0; k < 2; ++k) {
      const int32_t row = epoch[step % 2 * 2 + k];
      EXPECT_EQ(batch.arrays[0]->AsDouble(2 * k + 1), 10 * row + 1);
      EXPECT_EQ(batch.arrays[1]->AsDouble(k), row);
    }
  };
  for (int64_t step = 0; step < 20; ++step) check(step);
  (*loader)->Seek(7);
  for (int64_t step = 7; step < 12; ++step) check(step);
  (*loader)->Seek(12);
  check(12);
}

TEST(DataLoaderTest, Errors) {
  const NdArray five(DType::kF32, {5}), four(DType::kF32, {4, 5});
  EXPECT_THAT(DataLoader::Make({five, four}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("arrays of 5 and of 4 examples")));
  EXPECT_THAT(
      DataLoader::Make({}, {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 arrays")));
  EXPECT_THAT(DataLoader::Make({five}, {}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("0 batches ahead")));
}

}  // namespace
}  // namespace ocannl::train
