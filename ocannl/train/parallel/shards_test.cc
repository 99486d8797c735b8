// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/shards.h"

#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/tensor/leaf.h"
#include "tests/support/status_matchers.h"

namespace ocannl::train {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

NdArray Counted(DType dtype, Dims dims) {
  NdArray array(dtype, std::move(dims));
  for (size_t k = 0; k < array.bytes(); ++k) {
    array.data()[k] = static_cast<std::byte>(k * 7 + 1);
  }
  return array;
}

std::string Error(const NdArray& array, int64_t axis, int64_t n_shards) {
  auto shards = ShardAlong(array, axis, n_shards);
  EXPECT_THAT(shards, StatusIs(StatusCode::kInvalidArgument));
  return std::string(shards.status().message());
}

TEST(Shards, SixCellsInThree) {
  auto shards = ShardAlong(NdArray::Of<int32_t>({6}, {0, 1, 2, 3, 4, 5}), 0, 3);
  ASSERT_THAT(shards, IsOkAndHolds(testing::SizeIs(3)));
  EXPECT_THAT((*shards)[0].values<int32_t>(), ElementsAre(0, 1));
  EXPECT_THAT((*shards)[1].values<int32_t>(), ElementsAre(2, 3));
  EXPECT_THAT((*shards)[2].values<int32_t>(), ElementsAre(4, 5));
}

TEST(Shards, GatherIsTheInverse) {
  for (DType dtype : {DType::kF32, DType::kU16, DType::kF64, DType::kBool}) {
    for (const Dims& dims :
         std::vector<Dims>{{12}, {12, 5}, {24, 1, 3}, {0, 2}, {12, 0}}) {
      const NdArray whole = Counted(dtype, dims);
      for (int64_t n : {1, 2, 3, 4, 6, 12}) {
        auto shards = ShardAlong(whole, 0, n);
        ASSERT_THAT(shards, IsOk());
        ASSERT_EQ(shards->size(), n);
        for (const NdArray& shard : *shards) {
          EXPECT_EQ(shard.dims()[0] * n, dims[0]);
        }
        auto again = Gather(*shards);
        ASSERT_THAT(again, IsOk());
        EXPECT_EQ(again->dtype(), dtype);
        EXPECT_EQ(again->dims(), dims);
        EXPECT_TRUE(std::equal(whole.data(), whole.data() + whole.bytes(),
                               again->data()));
      }
    }
  }
}

TEST(Shards, FaultsOfSharding) {
  const NdArray array(DType::kF32, {5, 2});
  EXPECT_EQ(Error(array, 0, 0), "n_shards is 0; it must be at least 1");
  EXPECT_EQ(Error(array, 0, -3), "n_shards is -3; it must be at least 1");
  EXPECT_EQ(Error(array, 1, 2),
            "arrays are sharded along axis 0, not along axis 1; make the axis "
            "of the examples the first one");
  EXPECT_EQ(Error(NdArray(DType::kF32, {}), 0, 2),
            "f32[] is a scalar, without an axis 0 to make 2 shards along");
  EXPECT_EQ(Error(array, 0, 3),
            "axis 0 of f32[5, 2] has 5 cells, which 3 does not divide; leave "
            "out 2");
}

TEST(Shards, FaultsOfGathering) {
  auto error = [](const std::vector<NdArray>& shards) {
    return std::string(Gather(shards).status().message());
  };
  EXPECT_EQ(error({}), "there are no shards to gather");
  EXPECT_EQ(error({NdArray(DType::kF32, {})}),
            "shard 0, f32[], is a scalar, without an axis 0");
  EXPECT_EQ(error({NdArray(DType::kF32, {2}), NdArray(DType::kF32, {3})}),
            "shard 1 is f32[3], but shard 0 f32[2]; all must be alike");
  EXPECT_EQ(error({NdArray(DType::kF32, {2}), NdArray(DType::kF64, {2})}),
            "shard 1 is f64[2], but shard 0 f32[2]; all must be alike");
}

TEST(Shards, ValuesOfTheHost) {
  Graph graph;
  const Tensor x = Data(graph, "x", Counted(DType::kU8, {2, 3}),
                        {.rows = {Dims{2}, Dims{3}, Dims{}}});
  EXPECT_THAT(HostValues(x)->values<uint8_t>(),
              ElementsAre(1, 8, 15, 22, 29, 36));
  EXPECT_THAT(HostGet(x, {1, 0}), IsOkAndHolds(22));
  EXPECT_THAT(std::string(HostGet(x, {1, 3}).status().message()),
              testing::HasSubstr("[1, 3] is no cell of `x`, which is u8[2"));
  EXPECT_FALSE(HostGet(x, {1}).ok());
  EXPECT_THAT(std::string(HostValues(Number(graph, 1)).status().message()),
              testing::HasSubstr("has no values on the host"));
}

}  // namespace
}  // namespace ocannl::train
