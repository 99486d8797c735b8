// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/name_table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

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
