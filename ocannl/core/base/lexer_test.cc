// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/lexer.h"

#include <string>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(LexerTest, SizesOfCharacters) {
  EXPECT_EQ(CharacterSize(""), 0);
  EXPECT_EQ(CharacterSize("a−"), 1);
  EXPECT_EQ(CharacterSize("²"), 2);
  EXPECT_EQ(CharacterSize("−1"), 3);
  EXPECT_EQ(CharacterSize("\xf0\x9f\x99\x82"), 4);
  for (const char* invalid :
       {"\x80", "\xc0\x80", "\xc2", "\xe0\x80\x80", "\xed\xa0\x80", "\xe2\x88",
        "\xe2 x", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_EQ(CharacterSize(invalid), 0) << invalid;
  }
}

TEST(LexerTest, WhatToWrite) {
  EXPECT_EQ(DescribeCharacter("− 1"), "`−` (U+2212); write -");
  EXPECT_EQ(DescribeCharacter("\xc2\xa0x"),
            "no-break space (U+00A0); write a blank");
  EXPECT_EQ(DescribeCharacter("（x）"), "`（` (U+FF08); write (");
  EXPECT_EQ(DescribeCharacter("α"),
            "`α` (U+03B1); names and symbols are of ASCII");
  EXPECT_EQ(DescribeCharacter("\xe2"), "`\\xe2`");
  EXPECT_EQ(DescribeCharacter("\xc2\x9b"), "`\\xc2`");
  EXPECT_EQ(DescribeCharacter("'"), "`\\'`");
}

TEST(LexerTest, HintsForWholeTexts) {
  EXPECT_EQ(LookalikeHint("i -> o"), "");
  EXPECT_EQ(LookalikeHint("i ⇒ o"), "; found `⇒` (U+21D2); write =>");
}

}  // namespace
}  // namespace ocannl
