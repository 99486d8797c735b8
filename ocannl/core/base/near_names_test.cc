// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/near_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NearNamesTest, NearestFirst) {
  EXPECT_THAT(NearNames("margn", {"marginal", "image", "margin", "margo"}),
              ElementsAre("margin", "margo"));
  EXPECT_THAT(NearNames("wnd", {"w3nd", "wd", "w1d", "end", "and"}),
              ElementsAre("and", "end", "w1d"));
}

TEST(NearNamesTest, ShortNamesAreNearToLittle) {
  EXPECT_THAT(NearNames("x", {"y", "z", "xs"}), IsEmpty());
  EXPECT_THAT(NearNames("w4", {"w3", "b4", "x1"}), ElementsAre("b4", "w3"));
  EXPECT_THAT(NearNames("", {"", "a"}), ElementsAre(""));
}

TEST(NearNamesTest, HintIsPartOfAMessage) {
  EXPECT_EQ(NearNamesHint("w4", {"w3", "b4", "x1"}), "; near names: b4, w3");
  EXPECT_EQ(NearNamesHint("x", {"y"}), "");
}

}  // namespace
}  // namespace ocannl
