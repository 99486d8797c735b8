// SPDX-License-Identifier: Apache-2.0
//
// Mistakes of newcomers, and what the tool's message must say:
// tool_mistakes.txt holds a case after the other.
//
//   $ eval 'x[0]' --in=x=range:3        the command, maybe after VARIABLE=VALUE
//   | p (): ...                         lines of the file p.ll, or p.cd
//   = tier: x86                         lines of the file ocannl_config
//   line 1, column 2                    parts of the message, one a line
//
// Half a second.
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/cli/tool.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

struct Mistake {
  std::string command;
  std::string program;
  std::string config;
  std::vector<std::string> parts;  // of the message
};

std::vector<Mistake> ReadMistakes() {
  const absl::StatusOr<std::string> text =
      ReadFile("tests/mistakes/tool_mistakes.txt");
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<Mistake> mistakes;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (line.empty() || absl::StartsWith(line, "#")) continue;
    if (absl::ConsumePrefix(&line, "$ ")) {
      mistakes.emplace_back().command = std::string(line);
    } else if (absl::ConsumePrefix(&line, "| ")) {
      absl::StrAppend(&mistakes.back().program, line, "\n");
    } else if (absl::ConsumePrefix(&line, "= ")) {
      absl::StrAppend(&mistakes.back().config, line, "\n");
    } else {
      mistakes.back().parts.emplace_back(line);
    }
  }
  return mistakes;
}

// Words as a shell splits them: single quotes keep blanks.
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words(1);
  bool is_quoted = false;
  for (char c : text) {
    if (c == '\'') {
      is_quoted = !is_quoted;
    } else if (c == ' ' && !is_quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

class MistakesTest : public ::testing::Test {
 protected:
  MistakesTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_ + "/folder");
    Write("empty.npy", "");
    Write("text.npy", "1,2,3\n");
    Write("data.csv", "1,2,3\n");
    Write("z.npz", "PK\3\4");
    setenv("BUILD_WORKING_DIRECTORY", directory_.c_str(), /*overwrite=*/1);
  }
  ~MistakesTest() override { unsetenv("BUILD_WORKING_DIRECTORY"); }

  void Write(const std::string& name, const std::string& contents) {
    EXPECT_TRUE(WriteFile(directory_ + "/" + name, contents).ok());
  }

  // What the tool says about it.
  std::string Message(const Mistake& mistake) {
    std::filesystem::remove(directory_ + "/ocannl_config");
    if (!mistake.config.empty()) Write("ocannl_config", mistake.config);
    const bool is_code = absl::StrContains(mistake.command, "p.cd");
    Write(is_code ? "p.cd" : "p.ll", mistake.program);
    std::vector<std::string> words = Words(mistake.command);
    std::vector<std::string> variables;
    while (absl::StrContains(absl::AsciiStrToUpper(words[0]), "OCANNL_")) {
      const std::pair<std::string, std::string> set =
          absl::StrSplit(words[0], absl::MaxSplits('=', 1));
      setenv(set.first.c_str(), set.second.c_str(), /*overwrite=*/1);
      variables.push_back(set.first);
      words.erase(words.begin());
    }
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_NE(RunTool(words, out, err), 0) << mistake.command << out.str();
    for (const std::string& name : variables) unsetenv(name.c_str());
    return err.str();
  }

  const std::string directory_ = testing::TempDir() + "/mistakes";
};

TEST_F(MistakesTest, MessagesSayWhatToWrite) {
  const std::vector<Mistake> mistakes = ReadMistakes();
  EXPECT_GE(mistakes.size(), 60u);
  for (const Mistake& mistake : mistakes) {
    const std::string message = Message(mistake);
    EXPECT_FALSE(mistake.parts.empty()) << mistake.command << "\n" << message;
    for (const std::string& part : mistake.parts) {
      EXPECT_THAT(message, HasSubstr(part)) << mistake.command;
    }
  }
}

}  // namespace
}  // namespace ocannl
