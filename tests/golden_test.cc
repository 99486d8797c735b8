// SPDX-License-Identifier: Apache-2.0
//
// Goldens: what the tool prints, as files under tests/golden.
//
//   # RUN: explain %s --passes=simplify --stage=ll
//   p ():                            input: the file that %s stands for, or %c
//                                    if it is .cd; %t is an empty directory
//     ...
//   ---
//   p ():                            what the runs print, exactly, and then
//     ...                            each %t/NAME.log that they wrote
//
// `# RUN: vcode_pass fold_loads avx2` runs one pass over VCode: the input is a
// program, which names the buffers, a line `nest` and the nest.
//
// A golden whose name starts with fail_ expects an error, any other none. All
// code that a golden compiles is also printed and parsed again, and so is its
// program, which is run after each number of passes, scheduled for each target
// and on each tier.
//   bazel test //tests:golden_test --test_filter='*simplify/mul_one'
//   bazel run //tests:golden -- --update      writes the parts below the line
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "ocannl/cli/tool.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/cd/equal.h"
#include "ocannl/core/cd/parse.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/jit/vcode/isa.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/run_program.h"
#include "tests/support/run_vcode_pass.h"

namespace ocannl {
namespace {

namespace fs = std::filesystem;

struct Golden {
  std::string name;   // "simplify/mul_one"
  std::string above;  // everything above the line
  std::vector<std::string> runs;
  std::string input;
  std::string expected;

  bool fails() const { return absl::StrContains(name, "/fail_"); }
  bool is_vcode() const { return absl::StartsWith(name, "vcode_pass/"); }
  bool is_code() const {
    return absl::StrContains(absl::StrJoin(runs, "\n"), "%c");
  }
};

Golden ReadGolden(const fs::path& root, const fs::path& path) {
  Golden golden;
  golden.name = path.lexically_relative(root).replace_extension("").string();
  absl::StatusOr<std::string> text = ReadFile(path.string());
  if (!text.ok()) return golden;
  size_t line = absl::StartsWith(*text, "---\n") ? 0 : text->find("\n---\n");
  if (line == std::string::npos) line = absl::StripSuffix(*text, "\n").size();
  golden.above = text->substr(0, line);
  if (line + 5 <= text->size()) golden.expected = text->substr(line + 5);
  for (absl::string_view row : absl::StrSplit(golden.above, '\n')) {
    if (absl::ConsumePrefix(&row, "# RUN: ")) {
      golden.runs.emplace_back(row);
    } else if (!absl::StartsWith(row, "#")) {
      absl::StrAppend(&golden.input, row, "\n");
    }
  }
  return golden;
}

// Words as a shell splits them: single quotes keep blanks.
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool any = false;
  for (char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any || !word.empty()) words.push_back(std::exchange(word, ""));
      any = false;
    } else {
      word += c;
    }
  }
  if (any || !word.empty()) words.push_back(word);
  return words;
}

void ShowLogs(const std::string& directory, std::ostream& out) {
  std::set<fs::path> logs;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".log") logs.insert(entry.path());
  }
  for (const fs::path& path : logs) {
    absl::StatusOr<std::string> text = ReadFile(path.string());
    EXPECT_TRUE(text.ok()) << text.status();
    out << path.string() << ":\n" << text.value_or("");
  }
}

// What `vcode_pass PASS ISA` prints; returns an exit status as RunTool.
int RunPass(const std::vector<std::string>& args, const std::string& input,
            std::ostream& out) {
  if (args.size() != 3) return out << "error: vcode_pass PASS ISA\n", 1;
  const absl::StatusOr<std::string> text =
      RunVcodePass(args[1], args[2], input);
  if (!text.ok()) return out << "error: " << text.status().message() << "\n", 1;
  out << *text;
  return 0;
}

// What the runs print, errors included, and whether one failed.
std::pair<std::string, bool> Output(const Golden& golden) {
  const std::string base = (fs::path(testing::TempDir()) /
                            absl::StrReplaceAll(golden.name, {{"/", "_"}}))
                               .string();
  const std::string file = absl::StrCat(base, golden.is_code() ? ".cd" : ".ll");
  const std::string directory = absl::StrCat(base, ".dir");
  EXPECT_TRUE(WriteFile(file, golden.input).ok());
  fs::remove_all(directory);
  fs::create_directory(directory);
  std::ostringstream out;
  bool failed = false;
  for (const std::string& run : golden.runs) {
    std::vector<std::string> args = Words(absl::StrReplaceAll(
        run, {{"%s", file}, {"%c", file}, {"%t", directory}}));
    const int status = golden.is_vcode() ? RunPass(args, golden.input, out)
                                         : RunTool(args, out, out);
    failed = status != 0 || failed;
  }
  ShowLogs(directory, out);
  const char* name = golden.is_code() ? "%c" : "%s";
  return {absl::StrReplaceAll(out.str(), {{file, name}, {directory, "%t"}}),
          failed};
}

// A stage of `run`, which evaluates or explains an expression.
std::string StageOf(const std::string& run, const std::string& stage) {
  std::vector<std::string> args = {"explain", "--stage=" + stage};
  for (const std::string& word : Words(run)) {
    bool flag = absl::StartsWith(word, "--");
    bool of_expression = false;
    for (absl::string_view name :
         {"--in=", "--let=", "--range=", "--grad=", "--memory="}) {
      of_expression = of_expression || absl::StartsWith(word, name);
    }
    bool command = word == "eval" || word == "explain";
    if (!command && (!flag || of_expression)) args.push_back(word);
  }
  std::ostringstream out;
  EXPECT_EQ(RunTool(args, out, out), 0) << out.str();
  return out.str();
}

// The scheduled program is what its text says, and stores the same bits.
void CheckSchedules(const LoopProgram& program, const RunResult& expected) {
  for (jit::Isa isa : jit::kIsas) {
    LoopProgram scheduled = Schedule(program, TargetOf(isa));
    absl::StatusOr<LoopProgram> again = Parse(Print(scheduled));
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << Print(scheduled);
    EXPECT_EQ(Print(*again), Print(scheduled));
    absl::StatusOr<RunResult> actual =
        RunProgram(scheduled, FillInputs(scheduled));
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(Difference(expected, *actual), "") << Print(scheduled);
  }
}

// The program is what its text says, and stores the same bits after any number
// of passes, scheduled and on every tier.
void CheckProgram(const std::string& text) {
  absl::StatusOr<LoopProgram> program = Parse(text);
  ASSERT_TRUE(program.ok()) << program.status();
  absl::StatusOr<LoopProgram> again = Parse(Print(*program));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Print(*again), Print(*program));
  absl::StatusOr<RunResult> expected =
      RunProgram(*program, FillInputs(*program));
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (size_t limit = 1; limit <= Passes().size(); ++limit) {
    PassOptions options;
    options.limit = static_cast<int>(limit);
    absl::StatusOr<LoopProgram> optimized = Optimize(*program, options);
    ASSERT_TRUE(optimized.ok()) << optimized.status();
    absl::StatusOr<RunResult> actual =
        RunProgram(*optimized, FillInputs(*program));
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(Difference(*expected, *actual), "")
        << "after " << limit << " passes:\n"
        << Print(*optimized);
    if (limit == Passes().size()) CheckSchedules(*optimized, *expected);
  }
  EXPECT_TRUE(fuzz::TiersAgree(*program));
}

// The code is what its text says. Returns its program.
LoopProgram CheckCode(const std::string& text) {
  absl::StatusOr<Assignments> code = ParseCd(text);
  EXPECT_TRUE(code.ok()) << code.status() << "\n" << text;
  if (!code.ok()) return {};
  absl::StatusOr<Assignments> again = ParseCd(PrintCd(*code));
  EXPECT_TRUE(again.ok() && *again == *code) << again.status() << text;
  absl::StatusOr<LoopProgram> program = Lower(*code);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : LoopProgram();
}

// It stores the bits of `program`.
void CheckCode(const std::string& text, const std::string& program) {
  absl::StatusOr<LoopProgram> parsed = Parse(program);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Arrays inputs = FillInputs(*parsed);
  absl::StatusOr<RunResult> expected = RunProgram(*parsed, inputs);
  absl::StatusOr<RunResult> actual = RunProgram(CheckCode(text), inputs);
  ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status() << text;
  EXPECT_EQ(Difference(*expected, *actual), "") << text;
}

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(Golden golden) : golden_(std::move(golden)) {}

  void TestBody() override {
    ASSERT_FALSE(golden_.runs.empty()) << "no `# RUN:` line";
    auto [output, failed] = Output(golden_);
    EXPECT_EQ(output, golden_.expected)
        << "Again: bazel test //tests:golden_test --test_filter='*"
        << golden_.name << "'\n"
        << "If the new text is right: bazel run //tests:golden -- --update";
    EXPECT_EQ(failed, golden_.fails())
        << "the name of a golden starts with fail_ if and only if it fails";
    if (golden_.fails() || golden_.is_vcode()) return;
    if (!golden_.input.empty()) {
      return CheckProgram(golden_.is_code() ? Print(CheckCode(golden_.input))
                                            : golden_.input);
    }
    for (const std::string& run : golden_.runs) {
      if (absl::StrContains(run, "--help")) continue;
      const std::string program = StageOf(run, "unoptimized");
      CheckCode(StageOf(run, "cd"), program);
      CheckProgram(program);
    }
  }

 private:
  Golden golden_;
};

std::vector<Golden> AllGoldens(const fs::path& root) {
  std::vector<Golden> goldens;
  for (const auto& entry : fs::recursive_directory_iterator(
           root, fs::directory_options::follow_directory_symlink)) {
    if (entry.path().extension() != ".txt") continue;
    goldens.push_back(ReadGolden(root, entry.path()));
  }
  std::sort(goldens.begin(), goldens.end(),
            [](const Golden& a, const Golden& b) { return a.name < b.name; });
  return goldens;
}

int Update(const fs::path& root) {
  int changed = 0;
  for (const Golden& golden : AllGoldens(root)) {
    std::string output = Output(golden).first;
    if (output == golden.expected) continue;
    std::string path = (root / absl::StrCat(golden.name, ".txt")).string();
    absl::Status status =
        WriteFile(path, absl::StrCat(golden.above, "\n---\n", output));
    if (!status.ok()) {
      std::cerr << status.message() << "\n";
      return 1;
    }
    std::cout << "updated " << golden.name << "\n";
    ++changed;
  }
  std::cout << changed << " goldens updated\n";
  return 0;
}

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::string(argv[1]) == "--update") {
    const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
    if (workspace == nullptr) {
      std::cerr << "run this as: bazel run //tests:golden -- --update\n";
      return 1;
    }
    return Update(fs::path(workspace) / "tests/golden");
  }
  for (Golden& golden : AllGoldens("tests/golden")) {
    testing::RegisterTest(
        "Golden", golden.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [golden]() -> testing::Test* { return new GoldenTest(golden); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) { return ocannl::Main(argc, argv); }
