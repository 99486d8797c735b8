// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/random_rewrites.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/print.h"
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
  for (const rewrite::RewriteForm& form : rewrite::RewriteForms()) {
    // Loops that begin with copies are hardly made at random, but by plans of
    // products.
    const bool is_rare = !form.keeps_bits || form.name == "prefetch";
    const int least = is_rare ? 0 : static_cast<int>(kPrograms / 100);
    EXPECT_GE(taken[std::string(form.name)], least) << form.name;
  }
}

}  // namespace
}  // namespace ocannl::fuzz
