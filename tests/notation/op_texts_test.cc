// SPDX-License-Identifier: Apache-2.0
//
// op_texts.txt: each text has its value on every tier that this machine has.
// The values are NumPy's. About 20 seconds.
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ocannl/cli/tool.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/notation/operators.h"

namespace ocannl {
namespace {

using Words = std::vector<std::string>;

// What a text may name.
constexpr const char* kInputs[][2] = {{"x", "1,2,3:3"},     {"y", "4,5,6:3"},
                                      {"z", "0,2,0:3"},     {"p", "-1,0,0.5:3"},
                                      {"m", "range+1:2,3"}, {"s", "5:"}};

// The names in the text, outside of quotes.
absl::flat_hash_set<std::string> NamesOf(const std::string& text) {
  absl::flat_hash_set<std::string> names;
  Lexer lexer(text, NotationSymbols());
  while (lexer.peek().kind != Token::kEnd) {
    const Token token = lexer.Next();
    if (token.kind == Token::kName) names.insert(std::string(token.text));
  }
  return names;
}

// "f32 3: 1 2 3" of the tool's "result : f32 3\n  1 2 3\n"; else its error.
std::string ValueOf(const std::string& text, const std::string& tier) {
  const absl::flat_hash_set<std::string> names = NamesOf(text);
  Words args = {"eval", text, absl::StrCat("--tier=", tier)};
  for (const auto& [name, values] : kInputs) {
    if (!names.contains(name)) continue;
    args.push_back(absl::StrCat("--in=", name, "=", values));
  }
  std::ostringstream out, error;
  if (RunTool(args, out, error) != 0) return error.str();
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(out.str(), absl::MaxSplits('\n', 1));
  const Words head = absl::StrSplit(parts.first, absl::MaxSplits(" : ", 1));
  const Words values =
      absl::StrSplit(parts.second, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return absl::StrCat(absl::StripTrailingAsciiWhitespace(head[1]), ": ",
                      absl::StrJoin(values, " "));
}

class OpTextsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OpTextsTest, EachHasItsValue) {
  auto page = ReadFile("tests/notation/op_texts.txt");
  CHECK_OK(page);
  int rows = 0;
  for (const std::string& line : Words(absl::StrSplit(*page, '\n'))) {
    if (line.empty() || absl::StartsWith(line, "#")) continue;
    const Words row = absl::StrSplit(line, absl::MaxSplits(" ==> ", 1));
    ASSERT_EQ(row.size(), 2) << line;
    EXPECT_EQ(ValueOf(row[0], GetParam()), row[1]) << row[0];
    ++rows;
  }
  EXPECT_GE(rows, 100);
}

INSTANTIATE_TEST_SUITE_P(Tiers, OpTextsTest,
                         ::testing::Values("interp", "x86-avx2", "x86-avx512"));

}  // namespace
}  // namespace ocannl
