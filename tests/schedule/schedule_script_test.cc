// SPDX-License-Identifier: Apache-2.0
//
// The script of a processor's schedule, given by a user to the program whose
// nests are in one form, makes that schedule: of every program of the agree
// suite, of the bench's products and of random ones, for every target.
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/bench/dump.h"
#include "experiments/bench/workloads.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/core/schedule/schedule.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/programs/generate.h"
#include "tests/support/agree_programs.h"
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
    std::string script;
    absl::flat_hash_map<std::string, std::string> after;  // passes
    const LoopProgram scheduled = Schedule(
        program, target,
        {.script = &script,
         .observer = [&](absl::string_view pass, const LoopProgram& now) {
           const bool asked = pass == "canonicalize" || pass == "rewrite";
           if (asked) after[pass] = Print(now);
         }});
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
    EXPECT_TRUE(absl::StrContains(scripts, absl::StrCat("\n", rewrite, " ")))
        << rewrite;
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
