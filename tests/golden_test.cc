// SPDX-License-Identifier: Apache-2.0
//
// Goldens: what the tool prints, as files under tests/golden.
//
//   # RUN: explain %s --passes=simplify --stage=ll
//   p ():                            input: the file that %s stands for
//     ...
//   ---
//   p ():                            what the runs print, exactly
//     ...
//
// A golden whose name starts with fail_ expects an error, any other none.
//   bazel test //tests:golden_test --test_filter='*simplify/mul_one*'
//   bazel run //tests:golden -- --update      writes the parts below the line
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/tool.h"
#include "tests/run_program.h"

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
};

Golden ReadGolden(const fs::path& root, const fs::path& path) {
  Golden golden;
  golden.name = path.lexically_relative(root).replace_extension("").string();
  absl::StatusOr<std::string> text = ReadFile(path.string());
  if (!text.ok()) return golden;
  size_t line = absl::StartsWith(*text, "---\n") ? 0 : text->find("\n---\n");
  if (line == std::string::npos) line = text->size();
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

// What the runs print, errors included, and whether one failed.
std::pair<std::string, bool> Output(const Golden& golden) {
  fs::path file =
      fs::path(testing::TempDir()) /
      absl::StrCat(absl::StrReplaceAll(golden.name, {{"/", "_"}}), ".ll");
  EXPECT_TRUE(WriteFile(file.string(), golden.input).ok());
  std::ostringstream out;
  bool failed = false;
  for (const std::string& run : golden.runs) {
    std::vector<std::string> args =
        Words(absl::StrReplaceAll(run, {{"%s", file.string()}}));
    failed = RunTool(args, out, out) != 0 || failed;
  }
  return {absl::StrReplaceAll(out.str(), {{file.string(), "%s"}}), failed};
}

// The program in a golden is what its text says, and stores the same bits
// after any number of passes.
void CheckProgram(const Golden& golden) {
  absl::StatusOr<LoopProgram> program = Parse(golden.input);
  if (!program.ok() || golden.fails()) return;
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
  }
}

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(Golden golden) : golden_(std::move(golden)) {}

  void TestBody() override {
    ASSERT_FALSE(golden_.runs.empty()) << "no `# RUN:` line";
    auto [output, failed] = Output(golden_);
    EXPECT_EQ(output, golden_.expected)
        << "If the new text is right, run: bazel run //tests:golden -- "
           "--update";
    EXPECT_EQ(failed, golden_.fails())
        << "the name of a golden starts with fail_ if and only if it fails";
    CheckProgram(golden_);
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
    std::vector<std::string> parts =
        absl::StrSplit(golden.name, absl::MaxSplits('/', 1));
    std::string rest = parts.size() > 1 ? parts[1] : "";
    testing::RegisterTest(
        parts[0].c_str(), rest.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [golden]() -> testing::Test* { return new GoldenTest(golden); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) { return ocannl::Main(argc, argv); }
