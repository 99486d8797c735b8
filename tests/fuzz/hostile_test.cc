// SPDX-License-Identifier: Apache-2.0
//
// Files and texts as somebody hostile would write them: changed ones of the
// goldens, and of what we save. Each is refused or used; none crashes, hangs,
// or takes more than 2 GB.
//
//   HOSTILE_RUNS=100000 HOSTILE_SEED=7 bazel run //tests/fuzz:hostile_test
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ocannl/cli/tool.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/cd/equal.h"
#include "ocannl/core/cd/parse.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/runtime/npy.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/fuzz/notation/check_text.h"
#include "ocannl/fuzz/notation/random_text.h"
#include "ocannl/fuzz/run_trials.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "tests/checkpoint/samples.h"
#include "tests/support/mutated.h"
#include "tests/support/run_program.h"

namespace ocannl {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

constexpr int kSecondsOfOne = 10;  // of the processor
constexpr int64_t kMostMemory = int64_t{2} << 30;

// What makes an input, and what uses it: false if it is refused.
using Make = std::function<std::string(Random& random)>;
using Use = std::function<bool(const std::string& input)>;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  int64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number
                                                            : otherwise;
}

// In a child, which dies of what takes too long or too much.
bool UseOne(const Use& use, const std::string& input) {
  itimerval limit = {};
  limit.it_value.tv_sec = kSecondsOfOne;
  CHECK_EQ(setitimer(ITIMER_PROF, &limit, nullptr), 0);
  const bool used = use(input);
  rusage usage = {};
  CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  CHECK(int64_t{usage.ru_maxrss} << 10 <= kMostMemory)
      << usage.ru_maxrss << " KiB";
  return used;
}

void LimitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // So that the machine stays usable; more than UseOne lets pass.
  const rlimit limit = {.rlim_cur = 3 * kMostMemory, .rlim_max = RLIM_INFINITY};
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
#endif
}

// What a child has done.
struct Progress {
  int64_t used;
};

// Where the input that failed can be looked at.
std::string Keep(const std::string& name, uint64_t seed,
                 const std::string& input) {
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path =
      absl::StrCat(folder == nullptr ? testing::TempDir() : folder, "/hostile_",
                   name, "_", seed);
  CHECK_OK(WriteFile(path, input));
  return path;
}

void Attack(const std::string& name, const Make& make, const Use& use) {
  const int64_t runs = FromEnvironment("HOSTILE_RUNS", 2000);
  const auto seed = static_cast<uint64_t>(FromEnvironment("HOSTILE_SEED", 1));
  auto input_of = [&](uint64_t input_seed) {
    Random random(input_seed);
    return make(random);
  };
  int failures = 0;
  int64_t used = 0;
  const fuzz::TrialCount count = fuzz::RunTrials<Progress>(
      {.seed = seed,
       .cases = runs,
       .seconds = 1e9,
       .of_child = 500,
       .child_seconds = 3600},
      [&](uint64_t input_seed, Progress& progress) {
        LimitMemory();
        progress.used += UseOne(use, input_of(input_seed));
        return "";
      },
      [&](const Progress& progress, const fuzz::FailedTrial* failed) {
        used += progress.used;
        if (failed == nullptr) return true;
        ADD_FAILURE() << name << ", seed " << failed->seed << ": "
                      << failed->result.text << "\n"
                      << Keep(name, failed->seed, input_of(failed->seed));
        return ++failures < 10;
      });
  std::printf("%s: seed %" PRIu64 ", %" PRId64 " inputs, %" PRId64
              " of them used, %d failures, %.0f s\n",
              name.c_str(), seed, runs, used, failures, count.seconds);
  // Else they would say nothing about what comes behind the first checks.
  EXPECT_TRUE(used > 0 || runs < 1000);
}

// Inputs ----------------------------------------------------------------------

std::string Pick(const std::vector<std::string>& corpus, Random& random) {
  return corpus[random() % corpus.size()];
}

// Changes one of `corpus`.
Make MutantsOf(std::vector<std::string> corpus) {
  CHECK(!corpus.empty());
  return [corpus = std::move(corpus)](Random& random) {
    const std::string text = Pick(corpus, random);
    return Mutated(text, Pick(corpus, random), random);
  };
}

struct Corpus {
  std::vector<std::string> programs;
  std::vector<std::string> codes;        // .cd
  std::vector<std::string> expressions;  // flags, kMark and a text
  std::vector<std::string> rewritten;    // a program, kMark and a script
};
constexpr char kMark[] = "\n# script\n";

// What stands before and behind the mark.
std::pair<std::string, std::string> Parts(const std::string& text) {
  return absl::StrSplit(text, absl::MaxSplits(kMark, 1));
}

// The parts of a golden before the line.
void AddGolden(absl::string_view text, Corpus& corpus) {
  std::string program;
  std::vector<std::string> scripts;
  text = text.substr(0, text.find("\n---\n"));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, "#")) absl::StrAppend(&program, line, "\n");
    const std::vector<std::string> quoted = absl::StrSplit(line, '\'');
    if (!absl::StartsWith(line, "# RUN: ") || quoted.size() < 3) continue;
    if (absl::EndsWith(quoted[0], "--rewrite=")) scripts.push_back(quoted[1]);
    if (absl::EndsWith(quoted[0], "eval ") ||
        absl::EndsWith(quoted[0], "explain ")) {
      std::string flags;
      for (absl::string_view word : absl::StrSplit(quoted[2], ' ')) {
        if (absl::StartsWith(word, "--in=")) absl::StrAppend(&flags, word, " ");
      }
      corpus.expressions.push_back(absl::StrCat(flags, kMark, quoted[1]));
    }
  }
  if (program.size() < 10) return;
  if (absl::StrContains(program, "=:")) return corpus.codes.push_back(program);
  corpus.programs.push_back(program);
  for (const std::string& script : scripts) {
    corpus.rewritten.push_back(absl::StrCat(program, kMark, script));
  }
}

const Corpus& Goldens() {
  static const auto* goldens = [] {
    auto* corpus = new Corpus();
    std::set<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(
             "tests/golden", fs::directory_options::follow_directory_symlink)) {
      const fs::path& path = entry.path();
      if (path.extension() == ".txt") paths.insert(path.string());
    }
    for (const std::string& path : paths) AddGolden(*ReadFile(path), *corpus);
    return corpus;
  }();
  return *goldens;
}

// How many statements a run executes, about.
double Work(const Block& block) {
  double work = 1;
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    work += loop == nullptr
                ? 1
                : static_cast<double>(loop->extent) * Work(loop->body);
  }
  return work;
}

// Whether it can be run here.
bool IsSmall(const LoopProgram& program) {
  double cells = 0;
  for (const Buffer& buffer : program.buffers) {
    double product = 1;
    for (int64_t dim : buffer.dims) product *= static_cast<double>(dim);
    cells += product;
  }
  const auto statements = static_cast<double>(program.body.stmts.size());
  return cells < 1e5 && cells * statements + Work(program.body) < 1e6;
}

// Whether it is a program.
bool RunIfSmall(const absl::StatusOr<LoopProgram>& program) {
  if (!program.ok() || !VerifyPromises(*program).ok()) return false;
  if (IsSmall(*program)) (void)RunProgram(*program, FillInputs(*program));
  return true;
}

// The path of a file that holds `text`.
std::string FileOf(const std::string& name, const std::string& text) {
  const fs::path folder = testing::TempDir() + "hostile_inputs";
  fs::create_directories(folder);
  const std::string path = folder / name;
  fs::remove(path);  // file systems sync what is overwritten
  CHECK_OK(WriteFile(path, text));
  return path;
}

bool Tool(const std::vector<std::string>& args) {
  std::ostringstream out;
  return RunTool(args, out, out) == 0;
}

// Explains every stage, down to machine code.
bool UseProgram(const std::string& text) {
  (void)Tool({"explain", FileOf("p.ll", text)});
  return RunIfSmall(Parse(text));
}

TEST(HostileTest, Programs) {
  Attack("programs", MutantsOf(Goldens().programs), UseProgram);
}

bool UseCode(const std::string& text) {
  (void)Tool({"explain", FileOf("p.cd", text)});
  const absl::StatusOr<Assignments> code = ParseCd(text);
  if (!code.ok()) return false;
  const absl::StatusOr<Assignments> again = ParseCd(PrintCd(*code));
  CHECK_OK(again);
  CHECK(*again == *code) << PrintCd(*code);
  return RunIfSmall(Lower(*code));
}

TEST(HostileTest, Codes) {
  Attack("codes", MutantsOf(Goldens().codes), UseCode);
}

std::string MutatedBehindMark(const std::vector<std::string>& corpus,
                              Random& random) {
  const std::string text = Pick(corpus, random);
  const auto [before, behind] = Parts(text);
  return absl::StrCat(before, kMark, Mutated(behind, text, random));
}

std::string MakeRewrite(Random& random) {
  return MutatedBehindMark(Goldens().rewritten, random);
}

bool UseRewrite(const std::string& text) {
  const auto [source, script] = Parts(text);
  absl::StatusOr<LoopProgram> program = Parse(source);
  CHECK_OK(program);
  return RunIfSmall(rewrite::RunScript(*program, script));
}

TEST(HostileTest, Rewrites) { Attack("rewrites", MakeRewrite, UseRewrite); }

std::string MakeNotation(Random& random) {
  if (random() % 2 == 0) {
    return Mutated(fuzz::MakeText(random(), {}).text, "", random);
  }
  return MutatedBehindMark(Goldens().expressions, random);
}

// Whether the text is an expression of three vectors.
bool RunText(const std::string& text) {
  Shape vector;
  vector[RowKind::kOutput] = {3};
  const fuzz::TextOutcome outcome =
      fuzz::CheckText({.text = text, .operands = {vector, vector, vector}});
  CHECK(outcome.error.empty()) << outcome.error;
  return outcome.stage >= fuzz::TextOutcome::kTooLarge;
}

// Expressions with their flags are explained; those of the fuzzer are run,
// which knows what is too large.
bool UseNotation(const std::string& text) {
  if (!absl::StrContains(text, kMark)) return RunText(text);
  const auto [flags, expression] = Parts(text);
  std::vector<std::string> args = absl::StrSplit(flags, ' ', absl::SkipEmpty());
  args.insert(args.begin(), {"explain", expression});
  return Tool(args);
}

TEST(HostileTest, Notation) { Attack("notation", MakeNotation, UseNotation); }

bool UseSettings(const std::string& text) {
  const fs::path folder = fs::path(FileOf("ocannl_config", text)).parent_path();
  setenv("BUILD_WORKING_DIRECTORY", folder.c_str(), /*overwrite=*/1);
  const bool runs = Tool({"eval", "1 + 2"});
  return Tool({"eval", "1 + 2", "--tier=interp", "--log_runs="}) || runs;
}

TEST(HostileTest, Settings) {
  const std::vector<std::string> corpus = {
      "tier = interp\nthreads = 1\ncheck = true\n",
      "# a comment\n\ntier = x86\nthreads=2\ntier_report = false",
      "passes = simplify,virtualize\nstop_after = simplify\nreal = true\n",
      "skip = hoist\nlimit = 3\nexplain_nonfinite = true\n",
      "log_run_lines = 10\nlog_runs = log\ncode_cache = cache\n"};
  Attack("settings", MutantsOf(corpus), UseSettings);
}

bool UseNpy(const std::string& bytes) {
  absl::StatusOr<NdArray> array = ReadNpy(FileOf("x.npy", bytes));
  if (array.ok()) CHECK_OK(FormatNpy(*array));
  return array.ok();
}

TEST(HostileTest, Npy) {
  std::vector<std::string> corpus;
  for (const auto& [name, array] : SampleArrays(1)) {
    corpus.push_back(*FormatNpy(array));
  }
  Attack("npy", MutantsOf(std::move(corpus)), UseNpy);
}

// Files of a format with a few arrays.
void AttackCheckpoint(const std::string& format) {
  const std::string name = "m." + format;
  const std::vector<train::NamedArray> values = SampleArrays(1);
  const std::vector<Array> arrays = ArraysOf(values);
  const std::string saved = NewFolder("hostile_" + format) + "/" + name;
  CHECK_OK(train::SaveParams(saved, arrays, Place(values).context));
  Attack(format, MutantsOf({*ReadFile(saved)}), [&](const std::string& bytes) {
    const std::string path = FileOf(name, bytes);
    return train::RestoreParams(path, arrays, Place().context).ok();
  });
}

TEST(HostileTest, Npz) { AttackCheckpoint("npz"); }
TEST(HostileTest, Safetensors) { AttackCheckpoint("safetensors"); }

}  // namespace
}  // namespace ocannl
