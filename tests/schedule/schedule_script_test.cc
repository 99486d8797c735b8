// SPDX-License-Identifier: Apache-2.0
//
// The script of a processor's schedule, given by a user to the program whose
// nests are in one form, makes that schedule: of every program of the agree
// suite, of the bench's products and of random ones, for every target. And one
// edit changes one size. 20 seconds.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "experiments/bench/dump.h"
#include "experiments/bench/workloads.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/rewrite/print_script.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/programs/generate.h"
#include "ocannl/jit/x86_backend.h"
#include "tests/support/agree_programs.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_program.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

constexpr uint64_t kSeeds = 500;

// Whether the scheduler leaves all nests as they are: no loop nest of the body
// is of `for` loops alone.
bool IsScheduled(const LoopProgram& program) {
  return absl::c_none_of(program.body.stmts, [](const Stmt& stmt) {
    const For* nest = std::get_if<For>(&stmt);
    bool is_plain = nest != nullptr && nest->kind == LoopKind::kFor;
    if (!is_plain) return false;
    WalkLoops(nest->body, [&](const For& loop) {
      is_plain &= loop.kind == LoopKind::kFor;
    });
    return is_plain;
  });
}

// Gives the scripts.
std::string ExpectScriptMakesSchedule(const LoopProgram& program) {
  std::string scripts;
  for (const auto& [name, target] : fuzz::kComparedTargets) {
    SCOPED_TRACE(name);
    rewrite::Script steps;
    absl::flat_hash_map<std::string, std::string> after;  // passes
    const LoopProgram scheduled = Schedule(
        program, target,
        {.script = &steps,
         .observer = [&](absl::string_view pass, const LoopProgram& now) {
           const bool asked = pass == "canonicalize" || pass == "rewrite";
           if (asked) after[pass] = Print(now);
         }});
    const std::string script = rewrite::Print(steps, program);
    absl::StrAppend(&scripts, script);
    absl::StatusOr<LoopProgram> plain = Parse(after["canonicalize"]);
    EXPECT_THAT(plain, IsOk());
    if (!plain.ok()) continue;
    const auto again = rewrite::RunScript(*std::move(plain), script);
    EXPECT_THAT(again, IsOk()) << script;
    if (!again.ok()) continue;
    EXPECT_EQ(Print(*again), after["rewrite"]) << script;
    // What shares operations in locals again asks whether there were any.
    if (!program.locals.empty() || !IsScheduled(*again)) continue;
    EXPECT_EQ(Print(Schedule(*again, target)), Print(scheduled)) << script;
  }
  return scripts;
}

TEST(ScheduleScriptTest, ProgramsOfTheAgreeSuite) {
  for (const auto& [name, program] : AgreePrograms()) {
    SCOPED_TRACE(name);
    ExpectScriptMakesSchedule(program);
  }
}

TEST(ScheduleScriptTest, WorkloadsOfTheBench) {
  std::string scripts;
  for (const auto& group :
       {MoonsWorkloads(), MlpWorkloads(), GemmWorkloads(), EinsumWorkloads(),
        MapWorkloads(), NetWorkloads(), RowWorkloads()}) {
    for (const WorkloadMaker& maker : group) {
      SCOPED_TRACE(maker.name);
      const auto programs = ProgramsOf(maker);
      ASSERT_THAT(programs, IsOk());
      for (const LoopProgram& program : *programs) {
        absl::StrAppend(&scripts, ExpectScriptMakesSchedule(program));
      }
    }
  }
  // All that the scheduler does is in some script.
  for (const char* rewrite :
       {"split", "cut", "distribute", "reorder", "vectorize", "unroll_jam",
        "bind", "parallel", "privatize", "pack", "enclose", "fuse",
        "transpose_rows", "sink", "absorb_zero_out", "collapse"}) {
    EXPECT_TRUE(absl::StrContains(scripts, absl::StrCat("\n", rewrite, " ")) ||
                absl::StrContains(scripts, absl::StrCat("= ", rewrite, " ")))
        << rewrite;
  }
}

// A program whose nests are in one form, and the lines of its script.
struct Scripted {
  LoopProgram program;
  std::vector<std::string> lines;
};

Scripted ScriptOf(const LoopProgram& program, const Target& target) {
  Scripted scripted;
  rewrite::Script script;
  Schedule(program, target,
           {.script = &script,
            .observer = [&](absl::string_view pass, const LoopProgram& now) {
              if (pass == "canonicalize") scripted.program = now;
            }});
  scripted.lines = absl::StrSplit(rewrite::Print(script, program), '\n');
  return scripted;
}

// The program as its script makes it, with another number at the end of a line.
absl::StatusOr<LoopProgram> WithNumber(const Scripted& scripted, size_t line,
                                       int64_t number) {
  std::vector<std::string> lines = scripted.lines;
  lines[line].resize(lines[line].rfind(' '));
  absl::StrAppend(&lines[line], " ", number);
  return rewrite::RunScript(scripted.program, absl::StrJoin(lines, "\n"));
}

LoopProgram Product(int64_t m, int64_t k, int64_t n) {
  return MustParse(absl::Substitute(
      R"(product ():
  in a : f32[$0, $1]; in b : f32[$1, $2]; in c : f32[$2];
  temp t : f32[$0, $2]; out y : f32[$0, $2];
  zero_out t;
  for i0 = 0 to $3 { for i1 = 0 to $5 { for i2 = 0 to $4 {
    t[i0, i1] := fma(a[i0, i2], b[i2, i1], t[i0, i1]); } } }
  for i3 = 0 to $3 { for i4 = 0 to $5 {
    y[i3, i4] := relu(t[i3, i4] + c[i4]); } }
)",
      m, k, n, m - 1, k - 1, n - 1));
}

// Changes each size in a script to others, which divide or do not. What fails
// says which iterations there are, and not that a name is of no loop.
TEST(ScheduleScriptTest, OneEditChangesOneSize) {
  int edits = 0;
  int legal = 0;
  for (const LoopProgram& product :
       {Product(50, 60, 20), Product(24, 64, 48), Product(19, 300, 21)}) {
    const Arrays inputs = FillInputs(product);
    const auto expected = RunProgram(product, inputs);
    ASSERT_THAT(expected, IsOk());
    for (const auto& [name, target] : fuzz::kComparedTargets) {
      const Scripted scripted = ScriptOf(product, target);
      for (size_t k = 0; k < scripted.lines.size(); ++k) {
        const std::string& line = scripted.lines[k];
        int64_t size = 0;
        if (absl::StartsWith(line, "#") ||
            !absl::SimpleAtoi(line.substr(line.rfind(' ') + 1), &size)) {
          continue;
        }
        for (const int64_t other : {size - 1, size + 1, size / 2, 2 * size}) {
          if (other < 1) continue;
          SCOPED_TRACE(absl::StrCat(name, ": ", line, " -> ", other));
          const auto made = WithNumber(scripted, k, other);
          ++edits;
          if (!made.ok()) {
            EXPECT_TRUE(
                absl::StrContains(made.status().message(), " iterations"))
                << made.status();
            continue;
          }
          ++legal;
          const auto result = RunProgram(*made, inputs);
          ASSERT_THAT(result, IsOk());
          EXPECT_EQ(Difference(*expected, *result), "") << Print(*made);
        }
      }
    }
  }
  EXPECT_GT(legal, edits * 9 / 10);
}

// The steps of k that are unrolled, 8, become others.
TEST(ScheduleScriptTest, StepsOfALargeProduct) {
  const LoopProgram product = Product(512, 512, 512);
  const Arrays inputs = FillInputs(product);
  if (!jit::IsSupported(jit::Isa::kAvx2)) GTEST_SKIP() << "needs AVX2";
  const jit::X86Backend backend(jit::Isa::kAvx2, {});
  const auto expected = RunProgram(product, inputs, backend);
  ASSERT_THAT(expected, IsOk());
  for (jit::Isa isa : jit::kIsas) {
    const Scripted scripted = ScriptOf(product, TargetOf(isa));
    const auto line = absl::c_find_if(scripted.lines, [](const auto& text) {
      return absl::StartsWith(text, "k_block = split i2 ");
    });
    ASSERT_NE(line, scripted.lines.end());
    for (const int64_t size : {1, 7, 16, 100, 512}) {
      const auto made =
          WithNumber(scripted, line - scripted.lines.begin(), size);
      ASSERT_THAT(made, IsOk());
      const auto result = RunProgram(*made, inputs, backend);
      ASSERT_THAT(result, IsOk());
      EXPECT_EQ(Difference(*expected, *result), "") << size;
    }
  }
}

TEST(ScheduleScriptTest, RandomPrograms) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    ExpectScriptMakesSchedule(fuzz::Generate(seed, fuzz::PoliciesOf(seed)));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace ocannl
