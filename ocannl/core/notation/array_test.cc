// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/array.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {
namespace {

// "3->2: 1 2 3 4 5 6", or the error.
std::string Read(absl::string_view text) {
  Lexer lexer(text, NotationSymbols());
  BracketTable brackets;
  absl::StatusOr<ArrayText> array = ParseArray(lexer, brackets);
  if (!array.ok()) return std::string(array.status().message());
  return absl::StrCat(ToString(array->shape), ": ",
                      absl::StrJoin(array->values, " "));
}

TEST(ArrayTest, BracketsGiveTheKindsOfAxes) {
  EXPECT_EQ(Read("[1, 2, 3]"), "3: 1 2 3");
  EXPECT_EQ(Read("(1; 2)"), "2->: 1 2");
  EXPECT_EQ(Read("[|1; 2|]"), "2|: 1 2");
  EXPECT_EQ(Read("[ (1,2,3);(4,5,6) ]"), "3->2: 1 2 3 4 5 6");
  EXPECT_EQ(Read("[|[(1, 2)]; [(3, 4)]; [(5, -6.5)];|]"),
            "3|2->1: 1 2 3 4 5 -6.5");
  EXPECT_EQ(Read("[[[1], [2]]]"), "1,2,1: 1 2");
  EXPECT_EQ(Read("[(1); ((-2e3))]"), "2: 1 -2000");
  EXPECT_EQ(Read("[(1, 2),]"), "2->1: 1 2");
}

TEST(ArrayTest, NumbersAreRoundedFromTheText) {
  // Above the middle of two floats by less than a double tells.
  Lexer lexer("[1.00000005960464477539062501, 1e40]", NotationSymbols());
  BracketTable brackets;
  absl::StatusOr<ArrayText> array = ParseArray(lexer, brackets);
  EXPECT_EQ(array->values[0], 1 + 0x1p-23F);
  EXPECT_EQ(array->digits[0], 1 + 0x1p-24);
  EXPECT_EQ(array->digits[1], 1e40);
}

TEST(ArrayTest, Errors) {
  EXPECT_EQ(Read("[(1, 2, 3); (4, 5)]"),
            "line 1, column 13: this row has 2 elements, but the one before it "
            "has 3; make them equal");
  EXPECT_EQ(Read("[1, [2]]"),
            "line 1, column 5: `[` opens another kind of element than the one "
            "before it; make them alike");
  EXPECT_EQ(Read("[(1, 2), [3, 4]]"),
            "line 1, column 10: `[` opens another kind of element than the one "
            "before it; make them alike");
  EXPECT_EQ(Read("[[1], 2]"),
            "line 1, column 7: `2` stands beside brackets; make the elements "
            "alike");
  EXPECT_EQ(Read("([1, 2], [3, 4])"),
            "line 1, column 2: brackets nest as [|batch|] around [output] "
            "around (input); change their order");
  EXPECT_EQ(Read("[]"),
            "line 1, column 2: expected a number or a bracket, as an array "
            "holds numbers only, found `]`");
  EXPECT_EQ(Read("[1, -x]"),
            "line 1, column 6: expected a number or a bracket, as an array "
            "holds numbers only, found `x`");
  EXPECT_EQ(Read("[1, 1e400]"),
            "line 1, column 5: `1e400` is not a number that f64 can hold; "
            "write another number");
  EXPECT_EQ(Read("[1, 2"),
            "line 1, column 6: expected `,`, `;` or `]`, found the end of the "
            "text");
  EXPECT_EQ(Read("[|1, 2]"),
            "line 1, column 7: expected `,`, `;` or `|]`, found `]`");
  EXPECT_EQ(Read(std::string(300, '[')),
            "line 1, column 202: the array is nested too deeply");
  EXPECT_EQ(Read(absl::StrCat("[", std::string(300, '('))),
            "line 1, column 202: the array is nested too deeply");
}

TEST(ArrayTest, OnlyASeparatorMakesATuple) {
  auto at_array = [](absl::string_view text) {
    return BracketTable().AtArray(Lexer(text, NotationSymbols()));
  };
  EXPECT_TRUE(at_array("(1, 2)"));
  EXPECT_TRUE(at_array("((1) ; 2)"));
  EXPECT_TRUE(at_array("["));
  EXPECT_TRUE(at_array("[|"));
  EXPECT_FALSE(at_array("(1)"));
  EXPECT_FALSE(at_array("(max(1, 2) + [1, 2]), 3"));
  EXPECT_FALSE(at_array("({w; o=[2]})"));
  EXPECT_FALSE(at_array("(1"));
  EXPECT_FALSE(at_array("{w; o=[2]}"));
  EXPECT_FALSE(at_array("x, y"));
}

}  // namespace
}  // namespace ocannl
