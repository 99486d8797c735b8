// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/unique_name.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

struct Thing {
  std::string name;
};

class NameIndexTest : public testing::Test {
 protected:
  std::string Unused(const std::string& base) {
    names_.Update(things_, others_);
    return names_.Unused(base);
  }
  // A new thing with an unused name.
  std::string AddUnused(const std::string& base) {
    things_.push_back({Unused(base)});
    return things_.back().name;
  }
  std::optional<size_t> Find(const std::string& name) {
    names_.Update(things_, others_);
    return names_.Find(0, name);
  }

  std::vector<Thing> things_, others_;
  NameIndex names_;
};

TEST_F(NameIndexTest, FindsThingsOfOneTable) {
  things_ = {{"x"}};
  others_ = {{"v"}};
  EXPECT_EQ(Find("x"), 0);
  EXPECT_EQ(Find("y"), std::nullopt);
  EXPECT_EQ(Find("v"), std::nullopt);
  things_.push_back({"y"});
  EXPECT_EQ(Find("y"), 1);
}

TEST_F(NameIndexTest, CountsFromTwo) {
  EXPECT_EQ(AddUnused("acc"), "acc");
  EXPECT_EQ(AddUnused("acc"), "acc_2");
  EXPECT_EQ(AddUnused("acc"), "acc_3");
  EXPECT_EQ(AddUnused("acc_2"), "acc_2_2");
}

TEST_F(NameIndexTest, FillsGaps) {
  things_ = {{"acc_3"}};
  others_ = {{"acc_2"}, {"acc_4"}};
  EXPECT_EQ(AddUnused("acc"), "acc");
  EXPECT_EQ(AddUnused("acc"), "acc_5");
}

TEST_F(NameIndexTest, OnlyItsOwnNumbersCount) {
  things_ = {{"acc"}, {"acc_02"}, {"account"}};
  EXPECT_EQ(Unused("acc"), "acc_2");
}

TEST_F(NameIndexTest, ForgetsWhatIsDropped) {
  things_ = {{"x"}};
  for (int k = 0; k < 3; ++k) AddUnused("acc");
  things_.resize(2);
  EXPECT_EQ(Find("acc_3"), std::nullopt);
  EXPECT_EQ(AddUnused("acc"), "acc_2");
  // With no question before there are as many again.
  things_.resize(1);
  things_.push_back({"y"});
  things_.push_back({"z"});
  EXPECT_EQ(Unused("acc"), "acc");
  EXPECT_EQ(Find("y"), 1);
}

TEST_F(NameIndexTest, ACopyLearnsItsOwnTables) {
  AddUnused("acc");
  NameIndex copy = names_;
  copy.Update(others_, others_);
  EXPECT_EQ(copy.Unused("acc"), "acc");
  EXPECT_EQ(Unused("acc"), "acc_2");
}

}  // namespace
}  // namespace ocannl
