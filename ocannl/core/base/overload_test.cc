// SPDX-License-Identifier: Apache-2.0
//
// Overload picks the lambda of the alternative, with its state.

#include "ocannl/core/base/overload.h"

#include <string>
#include <type_traits>
#include <variant>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

using Value = std::variant<int, std::string>;

TEST(OverloadTest, VisitsTheAlternativeThatIsHeld) {
  int ints = 0;
  const Overload describe{
      [&](int i) {
        ++ints;
        return std::to_string(i);
      },
      [](const std::string& s) { return "'" + s + "'"; },
  };
  EXPECT_EQ(std::visit(describe, Value(3)), "3");
  EXPECT_EQ(std::visit(describe, Value("x")), "'x'");
  EXPECT_EQ(ints, 1);
}

TEST(OverloadTest, AForgottenAlternativeIsNotCallable) {
  const Overload only_int{[](int i) { return i; }};
  using Visitor = decltype(only_int);
  EXPECT_TRUE((std::is_invocable_v<Visitor, int>));
  EXPECT_FALSE((std::is_invocable_v<Visitor, const std::string&>));
}

}  // namespace
}  // namespace ocannl
