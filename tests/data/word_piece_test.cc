// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/data/word_piece.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using train::WordPiece;
using train::WordPieceOptions;

const std::vector<std::string> kPieces = {
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "una", "##ffa", "##ble", "!",
    "naive", "cafe",  "[",     "cls",   "]",   "a",     "##a",   "中",
    "文",    "σ",     "##ς",   "ß",     "b",   "^",     "Cafe",  "é",
    "##é",   "ᄒ",    "##ᅡ",  "##ᆫ",  "=",   "i",     "i̇",     "ⅷ"};

// The pieces of a text, with blanks between them.
std::string PiecesOf(const std::string& text,
                     const WordPieceOptions& options = {}) {
  const auto pieces = WordPiece::Make(kPieces, options);
  CHECK_OK(pieces);
  std::vector<std::string> found;
  for (int32_t id : pieces->Encode(text)) found.push_back(pieces->piece(id));
  return absl::StrJoin(found, " ");
}

TEST(WordPieceTest, LongestPiecesFromTheLeft) {
  EXPECT_EQ(PiecesOf("Unaffable!"), "una ##ffa ##ble !");
  EXPECT_EQ(PiecesOf("unaffables unable"), "[UNK] una ##ble");
  EXPECT_EQ(PiecesOf(""), "");
  EXPECT_EQ(PiecesOf(" \t\r\n"), "");
}

TEST(WordPieceTest, LowerCaseWithoutAccents) {
  EXPECT_EQ(PiecesOf("NAÏVE café"), "naive cafe");
  EXPECT_EQ(PiecesOf("cafe\u0301"), "cafe");      // a combining accent
  EXPECT_EQ(PiecesOf("İ Σ ẞ Ⅷ ≠"), "i σ ß ⅷ =");  // each letter by itself
  EXPECT_EQ(PiecesOf("한"), "ᄒ ##ᅡ ##ᆫ");      // Hangul is decomposed
  const WordPieceOptions cased = {.lower_case = false};
  EXPECT_EQ(PiecesOf("Cafe NAÏVE éé", cased), "Cafe [UNK] é ##é");
}

TEST(WordPieceTest, PunctuationAndIdeographsAreWords) {
  EXPECT_EQ(PiecesOf("a^b中文a"), "a ^ b 中 文 a");
  EXPECT_EQ(PiecesOf("a\u2026b"), "a [UNK] b");
  // Text makes no special piece.
  EXPECT_EQ(PiecesOf("[CLS]"), "[ cls ]");
}

TEST(WordPieceTest, ControlCharactersAndBytesThatAreNoText) {
  EXPECT_EQ(PiecesOf(std::string("a\0a\x01\u200b\ufffd\ue000", 11) + "a"),
            "a ##a ##a");
  EXPECT_EQ(PiecesOf("a\u00a0a\u2028a\u3000a"), "a a a a");
  for (std::string bad : {"\xff", "\xc3", "\x80", "\xc0\x80", "\xe0\x80\x80",
                          "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8"}) {
    EXPECT_EQ(PiecesOf(absl::StrCat("a", bad, "a", bad)), "a ##a");
  }
  EXPECT_EQ(PiecesOf("\xe4\xb8"), "");  // the begin of 中
}

TEST(WordPieceTest, LongWords) {
  EXPECT_EQ(WordPiece::Make(kPieces)->Encode(std::string(100, 'a')).size(),
            100u);
  EXPECT_EQ(PiecesOf(std::string(101, 'a')), "[UNK]");
  EXPECT_EQ(PiecesOf(std::string(3, 'a'), {.most_letters = 2}), "[UNK]");
  std::string accents = "a";  // which do not count
  for (int k = 0; k < 200; ++k) accents += "\u0301";
  EXPECT_EQ(PiecesOf(accents), "a");
}

TEST(WordPieceTest, Batches) {
  const WordPiece pieces = *WordPiece::Make(kPieces);
  const std::vector<std::string> texts = {"a b", "", "a a a a a"};
  auto length = [&](const train::BatchLength& of) {
    return pieces.EncodeBatch(texts, of).ids.dims()[1];
  };
  EXPECT_EQ(length({}), 7);
  EXPECT_EQ(length({.multiple = 4}), 8);
  EXPECT_EQ(length({.most = 6, .multiple = 4}), 6);
  EXPECT_EQ(length({.most = 9, .multiple = 16}), 9);
  EXPECT_THAT(pieces.EncodeBatch({}).ids.dims(), ElementsAre(0, 2));
  const train::TokenBatch batch = pieces.EncodeBatch(texts, {.most = 5});
  EXPECT_THAT(batch.ids.dims(), ElementsAre(3, 5));
  EXPECT_THAT(batch.ids.values<int32_t>(),
              ElementsAre(2, 13, 20, 3, 0, 2, 3, 0, 0, 0, 2, 13, 13, 13, 3));
  EXPECT_THAT(batch.mask.values<float>(),
              ElementsAre(1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1));
}

TEST(WordPieceTest, Vocabularies) {
  const std::string path = testing::TempDir() + "/vocab.txt";
  CHECK_OK(WriteFile(path, "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n"));
  auto loaded = WordPiece::Load(path);
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->size(), 5);
  EXPECT_THAT(loaded->Encode("A"), ElementsAre(4));
  CHECK_OK(WriteFile(path, "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\na\n"));
  EXPECT_THAT(
      WordPiece::Load(path).status().message(),
      HasSubstr("vocab.txt`: the piece `a` is there twice, and line 6"));
  CHECK_OK(WriteFile(path, ""));
  EXPECT_THAT(WordPiece::Load(path).status().message(),
              HasSubstr("there is no piece [UNK]"));
  EXPECT_THAT(WordPiece::Load(path + "x").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("vocab.txtx")));
}

}  // namespace
}  // namespace ocannl
