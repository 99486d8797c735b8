// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/names.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

TEST(NameTable, FindsWhatWasAdded) {
  std::vector<std::string> names;
  auto name_of = [&](int32_t k) -> absl::string_view { return names[k]; };
  NameTable table;
  EXPECT_EQ(table.Find("x0", name_of), std::nullopt);
  for (int32_t k = 0; k < 1000; ++k) {
    names.push_back(absl::StrCat("x", k));
    EXPECT_EQ(table.Add(names[k], k, name_of), k);
  }
  EXPECT_EQ(table.Add("x7", 1000, name_of), 7);
  EXPECT_EQ(table.size(), 1000u);
  for (int32_t k = 0; k < 1000; ++k) {
    EXPECT_EQ(table.Find(absl::StrCat("x", k), name_of), k);
  }
  EXPECT_EQ(table.Find("x1000", name_of), std::nullopt);
}

TEST(NameTable, ErasesNames) {
  const std::vector<std::string> names = {"x", "y", "x"};
  auto name_of = [&](int32_t k) -> absl::string_view { return names[k]; };
  NameTable table;
  EXPECT_EQ(table.Add("x", 0, name_of), 0);
  EXPECT_EQ(table.Add("y", 1, name_of), 1);
  table.Erase("z", name_of);
  table.Erase("x", name_of);
  EXPECT_EQ(table.Find("x", name_of), std::nullopt);
  EXPECT_EQ(table.Find("y", name_of), 1);
  EXPECT_EQ(table.Add("x", 2, name_of), 2);
  EXPECT_EQ(table.Find("x", name_of), 2);
}

}  // namespace
}  // namespace ocannl
