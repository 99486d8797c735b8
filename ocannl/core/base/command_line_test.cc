// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/command_line.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;

const std::vector<Flag> kFlags = {{"epochs", "80", "rounds"},
                                  {"hidden", "16,16", "sizes"},
                                  {"in", "", "inputs"},
                                  {"real", "false", "allow rounding"}};

CommandLine Line(const std::vector<std::string>& args) {
  return *CommandLine::Parse(args, kFlags);
}

TEST(CommandLineTest, FlagsDefaultsAndArguments) {
  CommandLine line =
      Line({"a", "--in=x=1", "--in=y", "--real", "--", "--epochs"});
  EXPECT_THAT(line.positional(), ElementsAre("a", "--epochs"));
  EXPECT_THAT(line.GetAll("in"), ElementsAre("x=1", "y"));
  EXPECT_EQ(line.GetString("in"), "y");
  EXPECT_TRUE(*line.GetBool("real"));
  EXPECT_FALSE(*Line({}).GetBool("real"));
  EXPECT_EQ(*line.GetInt("epochs", 1, 100), 80);
  EXPECT_FALSE(line.Has("epochs"));
  EXPECT_THAT(*line.GetIntList("hidden", 1, 100), ElementsAre(16, 16));
  EXPECT_THAT(*Line({"--hidden="}).GetIntList("hidden", 1, 9), ElementsAre());
}

TEST(CommandLineTest, ValuesInTheNextWord) {
  CommandLine line = Line({"--in", "x=1", "--real", "a", "--epochs", "-3"});
  EXPECT_THAT(line.positional(), ElementsAre("a"));
  EXPECT_EQ(line.GetString("in"), "x=1");
  EXPECT_TRUE(*line.GetBool("real"));
  EXPECT_EQ(*line.GetInt("epochs", -9, 9), -3);
}

TEST(CommandLineTest, HelpShowsDefaults) {
  EXPECT_EQ(CommandLine::Help({kFlags[0], kFlags[3]}),
            "  --epochs=80  rounds\n"
            "  --real       allow rounding\n");
}

TEST(CommandLineTest, HelpOfAnotherFlagTellsOfOneWithout) {
  EXPECT_EQ(CommandLine::Help({{"a", "", "up to --b"}, {"b", "0", ""}}),
            "  --a    up to --b\n");
}

TEST(CommandLineTest, HelpFitsATerminal) {
  const std::string words(77, 'x');
  EXPECT_EQ(CommandLine::Help({{"a", "", words + " y " + words}}),
            "  --a  " + words + "\n       y\n       " + words + "\n");
  const std::string seventy_three(73, 'x');
  EXPECT_EQ(CommandLine::Help({{"a", "", seventy_three + " y"}}),
            "  --a  " + seventy_three + "\n       y\n");
  EXPECT_EQ(WrapWords(seventy_three + " y", 5, 2), seventy_three + " y");
}

TEST(CommandLineTest, PathsAreTheUsers) {
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(UserPath("a/b"), "a/b");
  setenv("BUILD_WORKING_DIRECTORY", "/home/u", 1);
  EXPECT_EQ(UserPath("a/b"), "/home/u/a/b");
  EXPECT_EQ(UserPath("/a/b"), "/a/b");
  unsetenv("BUILD_WORKING_DIRECTORY");
}

TEST(CommandLineTest, ErrorsNameFlagAndMend) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--in"}, {"--in", "--real"}}) {
    EXPECT_EQ(CommandLine::Parse(args, kFlags).status().message(),
              "--in needs a value; write --in=VALUE");
  }
  EXPECT_EQ(CommandLine::Parse({"--epoch=3"}, kFlags).status().message(),
            "unknown flag --epoch; did you mean --epochs?");
  const std::vector<Flag> flags = {
      {"data", "", ""}, {"save", "", ""}, {"trace", "", ""}, {"tier", "", ""}};
  EXPECT_EQ(CommandLine::Parse({"--rate=1"}, flags).status().message(),
            "unknown flag --rate; see --help");
  for (const std::string slip : {"--teir", "--tir", "--pier"}) {
    EXPECT_EQ(CommandLine::Parse({slip}, flags).status().message(),
              "unknown flag " + slip + "; did you mean --tier?");
  }
  EXPECT_EQ(CommandLine::Parse({"--zzzzzz"}, kFlags).status().message(),
            "unknown flag --zzzzzz; see --help");
  EXPECT_EQ(Line({"--epochs=0"}).GetInt("epochs", 1, 9).status().message(),
            "--epochs=0 is not an integer from 1 to 9");
  EXPECT_EQ(
      Line({"--hidden=4,x"}).GetIntList("hidden", 1, 9).status().message(),
      "--hidden=x is not an integer from 1 to 9");
  EXPECT_EQ(Line({"--real=7"}).GetBool("real").status().message(),
            "--real=7 is neither true nor false");
}

TEST(CommandLineTest, SettingsAreWhatTheLineDoesNotGive) {
  const Settings settings = {{"epochs", {"many", "config:3: epochs"}},
                             {"real", {"yes", "OCANNL_REAL"}},
                             {"unrelated", {"1", "OCANNL_UNRELATED"}}};
  absl::StatusOr<CommandLine> line =
      CommandLine::Parse({"--real=false"}, kFlags, settings);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_FALSE(*line->GetBool("real"));
  EXPECT_EQ(line->DescribeSettings(), " (set: config:3: epochs=many)");
  EXPECT_EQ(line->GetInt("epochs", 0, 9).status().message(),
            "config:3: epochs=many is not an integer from 0 to 9");
  line = CommandLine::Parse({"--epochs=4"}, kFlags, settings);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line->GetInt("epochs", 0, 9), 4);
  EXPECT_TRUE(*line->GetBool("real"));
  EXPECT_EQ(Line({"--real"}).DescribeSettings(), "");
}

}  // namespace
}  // namespace ocannl
