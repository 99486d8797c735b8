// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/random_rewrites.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/fuzz/programs/generate.h"

namespace ocannl::fuzz {
namespace {

TEST(RandomRewritesTest, EveryRewriteIsTaken) {
  constexpr uint64_t kPrograms = 1000;
  std::map<std::string, int> taken;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    const LoopProgram program = Generate(seed, PoliciesOf(seed));
    const RandomlyRewritten made = RewriteAtRandom(program);
    absl::StatusOr<LoopProgram> again =
        rewrite::RunScript(program, made.script);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << made.script;
    EXPECT_EQ(Print(*again), Print(made.program));
    for (absl::string_view line :
         absl::StrSplit(made.script, '\n', absl::SkipEmpty())) {
      ++taken[std::string(line.substr(0, line.find(' ')))];
    }
  }
  for (const rewrite::Row& row : rewrite::Rows()) {
    // Loops that begin with copies are hardly made at random, but by plans of
    // products.
    const bool is_rare = row.changes == rewrite::Row::Changes::kRounding ||
                         row.name == "prefetch";
    const int least = is_rare ? 0 : static_cast<int>(kPrograms / 100);
    EXPECT_GE(taken[std::string(row.name)], least) << row.name;
  }
}

// All that a rewrite may change: expressions are only added.
std::string StateOf(const rewrite::ScriptRunner& runner) {
  const LoopProgram& program = runner.program();
  return absl::StrCat(Print(program), program.locals.size(), " locals, ",
                      Name(program.next_iterator));
}

TEST(RandomRewritesTest, ErrorsChangeNothing) {
  constexpr uint64_t kPrograms = 400;
  std::map<std::string, int> failed;
  auto check = [&](const LoopProgram& program, absl::string_view lines) {
    rewrite::ScriptRunner runner(program);
    // Names for more loops than there are new ones are an error at the end.
    for (std::string line :
         {std::string(lines), "a, b, c = " + std::string(lines)}) {
      for (absl::string_view part :
           absl::StrSplit(line, absl::ByAnyChar("\n;"), absl::SkipEmpty())) {
        const std::string before = StateOf(runner);
        const absl::Status status = runner.Line(part);
        if (status.ok()) continue;
        ASSERT_EQ(StateOf(runner), before) << part << "\n" << status;
        part = absl::StripAsciiWhitespace(part);
        ++failed[std::string(part.substr(0, part.find(' ')))];
      }
    }
  };
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    RewriteAtRandom(Generate(seed, PoliciesOf(seed)), check);
    if (HasFatalFailure()) return;
  }
  // Those that change something before they can tell.
  for (const char* name : {"a,", "reorder", "unroll_jam", "fuse", "privatize",
                           "pack", "collapse", "contract_array"}) {
    EXPECT_GE(failed[name], static_cast<int>(kPrograms / 40)) << name;
  }
}

}  // namespace
}  // namespace ocannl::fuzz
