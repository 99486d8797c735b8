// SPDX-License-Identifier: Apache-2.0
//
// What the tool prints is in tests/golden; here is where it goes, with which
// exit code, and what needs files of its own.
#include "ocannl/cli/tool.h"

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/version.h"
#include "ocannl/flags/flags.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/tiers/tiers.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Args = std::vector<std::string>;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome Tool(const Args& args) {
  std::ostringstream out;
  std::ostringstream err;
  int code = RunTool(args, out, err);
  return {code, out.str(), err.str()};
}

std::string TempFile(const std::string& name, const std::string& contents) {
  std::string path = absl::StrCat(testing::TempDir(), "/", name);
  EXPECT_TRUE(WriteFile(path, contents).ok());
  return path;
}

TEST(ToolTest, ResultsGoToOut) {
  for (const Args& args :
       {Args{"--help"}, Args{"-h"}, Args{"help"}, Args{"run", "--help"},
        Args{"eval", "--help"}, Args{"eval", "-h"}, Args{"explain", "--help"},
        Args{"settings", "--help"}, Args{"eval", "1 + 2"},
        Args{"explain", "1 + 2"}}) {
    Outcome outcome = Tool(args);
    EXPECT_EQ(outcome.code, 0) << args[0];
    EXPECT_THAT(outcome.out, Not(IsEmpty())) << args[0];
    EXPECT_THAT(outcome.err, IsEmpty()) << args[0];
  }
}

TEST(ToolTest, HelpNamesEveryCommandAndItsFlags) {
  for (const char* command : {"run", "eval", "explain"}) {
    EXPECT_THAT(Tool({"--help"}).out, HasSubstr(command));
    std::string help = Tool({command, "--help"}).out;
    for (const char* flag : {"--in ", "--explain ", "--skip", "--help "}) {
      EXPECT_THAT(help, HasSubstr(flag)) << command;
    }
  }
}

TEST(ToolTest, HelpFitsATerminal) {
  for (const Args& args :
       {Args{"--help"}, Args{"settings"}, Args{"run", "--help"},
        Args{"eval", "--help"}, Args{"explain", "--help"},
        Args{"fuzz", "--help"}, Args{"tune", "--help"}}) {
    const std::string text = Tool(args).out;
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    EXPECT_LE(lines.size(), 24) << text;  // the last one is for the prompt
    for (const std::string& line : lines) EXPECT_LE(line.size(), 80) << line;
  }
  const std::string settings = Tool({"settings"}).out;
  for (const Flag& flag : FlagsOf(kSettingFlags)) {
    EXPECT_THAT(settings, HasSubstr(absl::StrCat("  --", flag.name)));
  }
}

TEST(ToolTest, TierReportFitsATerminal) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      Tool({"eval", "x + x", "--in=x=range:2", "--tier=auto", "--tier_report"})
          .code,
      0);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("no program of this shape so far; "));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), 80) << line;
  }
}

TEST(ToolTest, TimesAreOfTheTiersByTheirNames) {
  const std::string file = TempFile("time.ll", R"(
p ():
  out y : f32[1];
  y[0] := 1;
)");
  testing::internal::CaptureStderr();
  Tool({"run", file, "--tier=all", "--time"});
  const std::string text = testing::internal::GetCapturedStderr();
  for (const std::string& tier : AvailableTiers()) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat(tier, ": "))) << text;
  }
}

TEST(ToolTest, WrongUseIsCodeTwo) {
  for (const Args& args :
       {Args{}, Args{"evil"}, Args{"eval"}, Args{"eval", "1", "+", "2"},
        Args{"run", "--no_such_flag", "p.ll"}, Args{"eval", "1", "--in"},
        Args{"settings", "foo"}, Args{"eval", "1", "--tier=metal"},
        Args{"eval", "1", "--limit=x"}, Args{"eval", "1", "--explain="},
        Args{"eval", "1", "--dtype=foo"}, Args{"explain", "1", "--stage=asm"},
        Args{"explain", "1", "--stage=x86", "--target=sm_90"},
        Args{"fuzz", "--tiers="}, Args{"fuzz", "--corpus=x"},
        Args{"fuzz", "p.ll", "--notation"}}) {
    Outcome outcome = Tool(args);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, Not(IsEmpty()));
  }
}

TEST(ToolTest, FaultsAreCodeOne) {
  for (const Args& args :
       {Args{"eval", "1 +"}, Args{"eval", "x"}, Args{"run", "/nowhere/p.ll"},
        Args{"fuzz", "/nowhere/p.ll"}, Args{"tune", "/nowhere/p.ll"},
        Args{"eval", "x", "--in=x=1:1", "--out=/proc/nowhere/x"}}) {
    Outcome outcome = Tool(args);
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("error: "));
  }
}

// What is wrong with it is told before there is memory for 2^30 cells.
TEST(ToolTest, InputsAreCheckedBeforeThereIsMemory) {
  rusage before = {};
  rusage after = {};
  getrusage(RUSAGE_SELF, &before);
  for (const std::string value : {"range!", "1,2"}) {
    Outcome outcome =
        Tool({"eval", "x", absl::StrCat("--in=x=", value, ":1000000000")});
    EXPECT_EQ(outcome.code, 2);
  }
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss, before.ru_maxrss + (1 << 20));  // KiB
}

TEST(ToolTest, FlagsInTwoWords) {
  Args args = {"eval", "x + y", "--in", "x=range:2", "--in", "y=1,2:2"};
  EXPECT_EQ(Tool(args).out, "result : f32 2\n  1 3\n");
}

TEST(ToolTest, BrokenNpyFilesAreErrorsThatNameThem) {
  for (const std::string& contents :
       {std::string(), std::string("text"), std::string("\x93NUMPY\x01\0", 8),
        std::string("\x93NUMPY\x01\0\xff\xff{", 11)}) {
    std::string path = TempFile("broken.npy", contents);
    Outcome outcome = Tool({"eval", "x", absl::StrCat("--in=x=", path)});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(path));
  }
}

TEST(ToolTest, ColonsInFileNames) {
  std::string path = TempFile("a:b.npy", "text");
  EXPECT_THAT(Tool({"eval", "x", absl::StrCat("--in=x=", path)}).err,
              HasSubstr(absl::StrCat("`", path, "`")));
}

TEST(ToolTest, ExplainWritesAFilePerStage) {
  std::string directory = absl::StrCat(testing::TempDir(), "/stages");
  const std::string explain = absl::StrCat("--explain=", directory);
  for (const char* command : {"eval", "explain"}) {
    std::filesystem::remove_all(directory);
    Outcome outcome = Tool({command, "x + 1", "--in=x=range:3", explain});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                StartsWith(absl::StrCat("The stages of result_fwd are in ",
                                        directory, "\n")));
    for (const char* name : {"result_fwd.shapes", "result_fwd.cd",
                             "result_fwd-unoptimized.ll", "result_fwd.ll"}) {
      EXPECT_TRUE(ReadFile(absl::StrCat(directory, "/", name)).ok()) << name;
    }
  }
  Outcome outcome =
      Tool({"explain", "x + 1", "--in=x=range:3", "--stage=ll", explain});
  std::string file = absl::StrCat(directory, "/result_fwd.ll");
  EXPECT_EQ(*ReadFile(file), outcome.out);
  Outcome run = Tool({"run", file, "--in=x=5,6,7"});
  EXPECT_EQ(run.out, "result : f32[3]\n  6 7 8\n") << run.err;
  run = Tool({"run", TempFile("plus.ll", outcome.out), "--in=x=5,6,7",
              "--rewrite=parallel i0", explain});
  EXPECT_THAT(run.out, HasSubstr("\nresult : f32[3]\n  6 7 8\n")) << run.err;
  EXPECT_TRUE(ReadFile(directory + "/result_fwd-rewritten.ll").ok());
}

// 0.1 s.
TEST(ToolTest, SeveralRewritesAreTimedInTurnAndCompared) {
  const std::string file = TempFile("long.ll",
                                    "p (): in x : f32[1000]; out y : f32[];"
                                    "zero_out y; for i0 = 0 to 999 {"
                                    "y[] := y[] + sqrt(x[i0]); }");
  const Args args = {"run",      file,     "--in=x=range",
                     "--repeat", "3",      "--time",
                     "--tier",   "interp", "--rewrite=a = split i0 10"};
  Args same = args, other = args;
  same.push_back("--rewrite=a = split i0 7");
  other.push_back("--rewrite=split_reduce i0");
  testing::internal::CaptureStderr();
  Outcome outcome = Tool(same);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("interp --rewrite=a = split i0 10: "),
                    HasSubstr("interp --rewrite=a = split i0 7: "),
                    HasSubstr("median of 3; "), HasSubstr(" of the first\n")));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  testing::internal::CaptureStderr();
  outcome = Tool(other);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr(" of the first\n"));
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_THAT(outcome.err,
              HasSubstr("interp --rewrite=split_reduce i0 differs from "
                        "--rewrite=a = split i0 10: y[] is "));
  outcome = Tool({"explain", file, "--stage=rewritten", args.back(),
                  "--rewrite=split_reduce i0"});
  EXPECT_THAT(outcome.err, HasSubstr("--rewrite is given 2 times"));
}

TEST(ToolTest, ExplainWritesTheScheduleOfItsTarget) {
  const std::string directory = testing::TempDir() + "/stages_of_gpu";
  const Args args = {"explain", "x + 1", "--in=x=range:3", "--target=sm_90"};
  Args written = args, shown = args;
  written.push_back("--explain=" + directory);
  shown.push_back("--stage=schedule");
  ASSERT_EQ(Tool(written).code, 0);
  EXPECT_EQ(*ReadFile(directory + "/result_fwd-schedule.ll"), Tool(shown).out);
  EXPECT_TRUE(std::filesystem::exists(directory + "/result_fwd.cu"));
  EXPECT_FALSE(std::filesystem::exists(directory + "/result_fwd-x86.s"));
}

TEST(ToolTest, DebugWritesTheStagesOfFiles) {
  const std::string file = TempFile("copied.ll",
                                    "p (): in x : f32[3]; out y : f32[3];"
                                    "for i0 = 0 to 2 { y[i0] := x[i0]; }");
  setenv("BUILD_WORKING_DIRECTORY", testing::TempDir().c_str(), 1);
  for (const char* debug : {"--debug=stages", "--debug=all"}) {
    const std::string directory = testing::TempDir() + "/build_files/tool_test";
    std::filesystem::remove_all(directory);
    const Outcome run = Tool({"run", file, "--in=x=range", debug});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(Tool({"eval", "1 + 2", debug}).code, 0);
    for (const char* name : {"p.ll", "p-schedule.ll", "p-x86.s",
                             "result_fwd.ll", "result_fwd-x86.s"}) {
      EXPECT_TRUE(std::filesystem::exists(directory + "/" + name)) << name;
    }
  }
  unsetenv("BUILD_WORKING_DIRECTORY");
}

TEST(ToolTest, VersionIsThatOfTheChangelog) {
  absl::StatusOr<std::string> changelog = ReadFile("CHANGELOG.md");
  ASSERT_TRUE(changelog.ok()) << changelog.status();
  EXPECT_THAT(*changelog,
              StartsWith(absl::StrCat("# Changelog\n\n## ", kVersion, "\n")));
  const std::string version = absl::StrCat("ocannl ", kVersion, "\n");
  EXPECT_EQ(Tool({"--version"}).out, version);
  EXPECT_EQ(Tool({"eval", "--version", "1"}).out, version);
}

TEST(ToolTest, FuzzTellsOfEachTier) {
  Outcome outcome =
      Tool({"fuzz", "--programs=20", "--tiers=interp,tree", "--verbose"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("seed 1, 20 programs in "));
  EXPECT_THAT(outcome.out, HasSubstr("\n  interp: 0 failures\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  tree: 0 failures"));
  EXPECT_THAT(outcome.out, HasSubstr(", odd_extents "));
}

TEST(ToolTest, FuzzTriesOneProgramOnManyInputs) {
  std::string file =
      TempFile("negated.ll", "p ():\n  inout x : f32[];\n  x[] := -(x[]);");
  Outcome outcome = Tool({"fuzz", file, "--programs=7", "--verbose"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("seed 1, 7 programs in "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("odd_extents")));
}

TEST(ToolTest, TuneWritesAScriptThatRuns) {
  if (!jit::HostIsa()) GTEST_SKIP() << "needs AVX2";
  const std::string program = TempFile("tuned.ll", R"(
p ():
  in x : f32[20, 24];
  in y : f32[24, 40];
  out z : f32[20, 40];
  zero_out z;
  for i0 = 0 to 19 { for i1 = 0 to 39 { for i2 = 0 to 23 {
    z[i0, i1] := fma(x[i0, i2], y[i2, i1], z[i0, i1]);
  } } }
)");
  const std::string script = testing::TempDir() + "/tuned.rewrite";
  const Outcome tuned =
      Tool({"tune", program, "--seconds=1", "--threads=1", "--out=" + script});
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr("--seed=1"));
  EXPECT_THAT(tuned.out, HasSubstr(" a minute"));
  EXPECT_THAT(tuned.out, HasSubstr("p has the interpreter's bits"));
  const Outcome run = Tool({"run", program, "--in=x=range", "--in=y=range",
                            "--tier=all", "--rewrite=" + script});
  EXPECT_EQ(run.code, 0) << run.err;
  // Before the search: it would take as long as it is given.
  const Outcome unwritable = Tool(
      {"tune", program, "--seconds=1000", "--out=/proc/nowhere/tuned.rewrite"});
  EXPECT_EQ(unwritable.code, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("/proc/nowhere"));
  EXPECT_THAT(Tool({"tune", program, "--tier=interp"}).err,
              HasSubstr("--tier=interp: tune measures schedules of this"));
}

TEST(ToolTest, LongArraysAreCut) {
  Outcome outcome = Tool({"eval", "x", "--in=x=range:1001"});
  EXPECT_THAT(outcome.out,
              HasSubstr("999\n  ... 1 more; write them to a file"));
}

// Scheduling merges the axes of x; what the caller has keeps its own.
TEST(ToolTest, ScheduledProgramsTakeTheSameInputs) {
  const std::string program = TempFile("doubled.ll",
                                       "p (): in x : f32[8, 3];"
                                       "out y : f32[8, 3];"
                                       "for i0 = 0 to 7 { for i1 = 0 to 2 {"
                                       "  y[i0, i1] := x[i0, i1] * 2; } }");
  ASSERT_EQ(
      Tool({"run", program, "--in=x=range", "--out=" + testing::TempDir()})
          .code,
      0);
  const std::string input = "--in=x=" + testing::TempDir() + "/y.npy";
  const Outcome scheduled = Tool({"explain", program, "--stage=schedule"});
  ASSERT_THAT(scheduled.out, HasSubstr("in x : f32[24];"));
  const Outcome run =
      Tool({"run", TempFile("scheduled.ll", scheduled.out), input});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("y : f32[24]"));
  const std::string rows = TempFile("rows.ll",
                                    "p (): in x : f32[6, 4]; out y : f32[1];"
                                    "y[0] := x[0, 0];");
  EXPECT_THAT(Tool({"run", rows, input}).err,
              HasSubstr("is f32[8, 3], but `p` reads x : f32[6, 4]"));
}

TEST(ToolTest, UnknownKindsOfSymbols) {
  for (const char* wanted : {"bogus", "perf,bogus", "perf,", "Perf"}) {
    setenv("OCANNL_JIT_SYMBOLS", wanted, /*overwrite=*/1);
    const Outcome outcome = Tool({"eval", "1 + 2"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err,
                StartsWith(absl::StrCat("error: OCANNL_JIT_SYMBOLS=", wanted)));
    EXPECT_THAT(outcome.err, HasSubstr("write perf, gdb or perf,gdb\n"));
  }
  setenv("OCANNL_JIT_SYMBOLS", "", /*overwrite=*/1);
  EXPECT_EQ(Tool({"eval", "1 + 2"}).code, 0);
  unsetenv("OCANNL_JIT_SYMBOLS");
}

TEST(ToolTest, SettingsOfTheEnvironment) {
  setenv("OCANNL_TIER", "none", /*overwrite=*/1);
  Outcome outcome = Tool({"eval", "1 + 2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("no tier none; "));
  EXPECT_THAT(outcome.err, HasSubstr(" (set: OCANNL_TIER=none)\n"));
  EXPECT_EQ(Tool({"eval", "1 + 2", "--tier=interp"}).code, 0);
  unsetenv("OCANNL_TIER");
  setenv("OCANNL_TEIR", "interp", /*overwrite=*/1);
  outcome = Tool({"eval", "1 + 2"});
  unsetenv("OCANNL_TEIR");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("near names: OCANNL_TIER"));
}

}  // namespace
}  // namespace ocannl
