// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/id_map.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "ocannl/core/base/id.h"

namespace ocannl {
namespace {

struct Tag;
using TestId = Id<Tag>;

TEST(IdMapTest, KeepsWhatCameFirst) {
  IdMap<TestId, int> map;
  EXPECT_EQ(map.Find(TestId{3}), nullptr);
  EXPECT_TRUE(map.Insert(TestId{3}, 7));
  EXPECT_FALSE(map.Insert(TestId{3}, 8));
  EXPECT_EQ(map.At(TestId{3}), 7);
  *map.Find(TestId{3}) = 9;
  EXPECT_EQ(map.At(TestId{3}), 9);
  EXPECT_FALSE(map.Contains(TestId{4}));
}

TEST(IdMapTest, Grows) {
  IdMap<TestId, int32_t> map;
  // Also ids that differ in their high bits only.
  auto id = [](int32_t k) { return TestId{k % 2 == 0 ? k : k << 16}; };
  for (int32_t k = 0; k < 10000; ++k) ASSERT_TRUE(map.Insert(id(k), k));
  for (int32_t k = 0; k < 10000; ++k) ASSERT_EQ(map.At(id(k)), k);
  EXPECT_FALSE(map.Contains(TestId{10001}));
}

}  // namespace
}  // namespace ocannl
