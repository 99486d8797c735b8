// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/sentences.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::SizeIs;

TEST(SentencesTest, OfTheGrammar) {
  const std::string text = Sentences(2000, 1);
  EXPECT_GE(text.size(), 2000u);
  EXPECT_EQ(text, Sentences(2000, 1));
  EXPECT_NE(text, Sentences(2000, 2));
  std::vector<std::string> sentences =
      absl::StrSplit(text, ". ", absl::SkipEmpty());
  EXPECT_GT(sentences.size(), 40u);
  for (const std::string& sentence : sentences) {
    EXPECT_THAT(std::vector<std::string>(absl::StrSplit(sentence, ' ')),
                SizeIs(7))
        << sentence;
  }
}

// 9.13 nats in a sentence of seven words of 30.5 letters and blanks, a full
// stop and the blank before the next one.
TEST(SentencesTest, NatsOfLetter) {
  EXPECT_NEAR(NatsOfLetter(), 0.2809, 0.0002);
  const std::string text = Sentences(100'000, 3);
  int64_t sentences = 0;
  for (char letter : text) sentences += letter == '.';
  const double length =
      static_cast<double>(text.size() + 1) / static_cast<double>(sentences);
  EXPECT_NEAR(NatsOfLetter() * length, 9.129, 0.03);
}

TEST(SentencesTest, TheClassOfALetterIsTheNext) {
  const Lessons lessons = LetterLessons(3, 2, 5, 1);
  const std::string text = Sentences(26, 1);
  EXPECT_EQ(lessons.classes, kLetters);
  EXPECT_EQ(lessons.train.inputs.dims(), (Dims{3, 5}));
  EXPECT_EQ(lessons.test.classes.dims(), (Dims{2, 5}));
  for (int k = 0; k < 15; ++k) {
    EXPECT_EQ(lessons.train.inputs.AsDouble(k), LetterNumber(text[k]));
    EXPECT_EQ(lessons.train.classes.AsDouble(k), LetterNumber(text[k + 1]));
  }
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(lessons.test.inputs.AsDouble(k), LetterNumber(text[15 + k]));
  }
}

}  // namespace
}  // namespace ocannl
