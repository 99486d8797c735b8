// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/letters.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

std::string PathOf(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  CHECK_OK(WriteFile(path, text));
  return path;
}

// The letters of row `row`.
std::string Letters(const NdArray& array, int64_t row,
                    const Alphabet& alphabet) {
  const int64_t width = array.size() / array.dims()[0];
  std::string text;
  for (int64_t i = 0; i < width; ++i) {
    text +=
        alphabet.letter(static_cast<int64_t>(array.AsDouble(row * width + i)));
  }
  return text;
}

TEST(LettersTest, Alphabets) {
  const Alphabet alphabet("banana.");
  EXPECT_EQ(alphabet.size(), 4);
  for (char letter : {'.', 'a', 'b', 'n'}) {
    EXPECT_EQ(alphabet.letter(alphabet.number(letter)), letter);
  }
}

TEST(LettersTest, NamesAreCapitalised) {
  const std::string words = "Ada\nbob\nO'Neil\nUSA\nX\nEve's\n";
  std::string more;
  for (char c = 'a'; c < 'k'; ++c)
    absl::StrAppend(&more, "Z", std::string(1, c), "\n");
  auto names = LoadNames(PathOf("words", words + more));
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->size(), 11u);
  EXPECT_EQ((*names)[0], "ada");
  EXPECT_THAT(LoadNames(PathOf("few", words)).status().message(),
              HasSubstr("1 names; write one in a line"));
  EXPECT_THAT(LoadNames("/nowhere/words").status().message(),
              HasSubstr("/nowhere/words"));
}

TEST(LettersTest, LessonsOfNames) {
  const std::vector<std::string> names(20, "eve");
  const Alphabet alphabet("eve.");
  const Lessons lessons = NameLessons(names, alphabet, 3, 1);
  EXPECT_EQ(lessons.classes, 3);
  EXPECT_EQ(lessons.train.inputs.dims(), (Dims{18 * 4, 3}));
  EXPECT_EQ(lessons.test.inputs.dims(), (Dims{2 * 4, 3}));
  const char* const inputs[] = {"...", "..e", ".ev", "eve"};
  const char next[] = {'e', 'v', 'e', '.'};
  for (int k = 0; k < 8; ++k) {
    EXPECT_EQ(Letters(lessons.train.inputs, k, alphabet), inputs[k % 4]);
    EXPECT_EQ(Letters(lessons.train.classes, k, alphabet),
              std::string(1, next[k % 4]));
  }
}

TEST(LettersTest, Samples) {
  auto sample = ParseSample("0.5,7");
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->temperature, 0.5);
  EXPECT_EQ(sample->top_k, 7);
  EXPECT_EQ(ParseSample("0")->top_k, 0);
  for (const char* wrong : {"", "-1", "x", "1,", "1,0", "1,2,3"}) {
    EXPECT_THAT(ParseSample(wrong).status().message(),
                HasSubstr("is no temperature"));
  }
}

TEST(LettersTest, LessonsOfText) {
  std::string text;
  for (int k = 0; k < 500; ++k) text += static_cast<char>('a' + k % 26);
  const Alphabet alphabet(text);
  const std::string twice = text.substr(0, 52);
  auto lessons = TextLessons(text, alphabet, 30, 10, 1);
  ASSERT_TRUE(lessons.ok()) << lessons.status();
  EXPECT_EQ(lessons->train.inputs.dims(), (Dims{30, 10}));
  for (int64_t k = 0; k < 30; ++k) {
    const std::string from = Letters(lessons->train.inputs, k, alphabet);
    const std::string to = Letters(lessons->train.classes, k, alphabet);
    EXPECT_EQ(from.substr(1), to.substr(0, 9));
    EXPECT_THAT(twice, HasSubstr(to));
  }
  EXPECT_THAT(
      TextLessons("short", Alphabet("short"), 1, 10, 1).status().message(),
      HasSubstr("a text of 5 letters is too short"));
  EXPECT_THAT(LoadTexts("/nowhere").status().message(), HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace ocannl
