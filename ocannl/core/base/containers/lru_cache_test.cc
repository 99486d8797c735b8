// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/containers/lru_cache.h"

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(LruCacheTest, DropsWhatWasNotUsedForLongest) {
  LruCache<int> cache(2);
  EXPECT_EQ(cache.Find("a"), nullptr);
  cache.Insert("a", 1);
  cache.Insert("b", 2);
  EXPECT_EQ(cache.dropped(), 0);
  ASSERT_NE(cache.Find("a"), nullptr);
  cache.Insert("c", 3);
  EXPECT_EQ(cache.dropped(), 1);
  EXPECT_EQ(cache.Find("b"), nullptr);
  ASSERT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(*cache.Find("a"), 1);
  ASSERT_NE(cache.Find("c"), nullptr);
  EXPECT_EQ(*cache.Find("c"), 3);
}

}  // namespace
}  // namespace ocannl
