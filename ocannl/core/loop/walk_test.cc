// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/walk.h"

#include <optional>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(WalkTest, AnIteratorIsNamedByItsNumberAsItIsPrinted) {
  EXPECT_EQ(IteratorNamed("i0"), IteratorId{0});
  EXPECT_EQ(IteratorNamed("i1000000000"), IteratorId{1'000'000'000});
  for (const char* name : {"", "i", "j1", "i07", "i-1", "i1.5", "i1000000001",
                           "i2147483647", "i99999999999"}) {
    EXPECT_EQ(IteratorNamed(name), std::nullopt) << name;
  }
}

TEST(WalkTest, NewIteratorsHaveTheNameOfNoStaticIndex) {
  LoopProgram program;
  program.statics = {{"i6", 3}, {"i2147483647", 3}, {"n", 3}};
  program.body.stmts.push_back(For{LoopKind::kFor, {4}, 2, {}});
  EXPECT_EQ(NextIterator(program), IteratorId{7});
}

}  // namespace
}  // namespace ocannl
