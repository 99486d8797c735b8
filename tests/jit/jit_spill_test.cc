// SPDX-License-Identifier: Apache-2.0
//
// More values than the machine has registers: what lies on the stack keeps its
// bits.
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/jit/assemble.h"
#include "tests/support/compiles_once.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

constexpr int kLive = 45;

// Makes kLive values of `dtype` from rows of x, and uses them last to first.
std::string Program(const std::string& dtype, const std::string& kind) {
  const bool is_bool = dtype == "bool";
  const std::string numbers = is_bool ? "f32" : dtype;
  std::string text =
      absl::StrCat("p ():\n  in x : ", numbers, "[", kLive + 1, ", 19];\n",
                   "  out y : ", dtype, "[19];\n  ", kind, " i0 = 0 to 18 {\n");
  for (int k = 0; k < kLive; ++k) {
    absl::StrAppend(&text, "    let v", k, " : ", dtype, " := x[", k, ", i0] ",
                    is_bool ? "<" : "*", " x[", k + 1, ", i0];\n");
  }
  absl::StrAppend(&text, "    y[i0] := v", kLive - 1, ";\n");
  for (int k = kLive - 2; k >= 0; --k) {
    absl::StrAppend(&text, "    y[i0] := y[i0] ", is_bool ? "^" : "-", " v", k,
                    ";\n");
  }
  return text + "  }\n";
}

TEST(JitSpillTest, ValuesOnTheStackKeepTheirBits) {
  for (const char* dtype : {"f32", "f64", "i32", "u64", "i64", "u8", "bool"}) {
    for (const char* kind : {"for", "vec"}) {
      SCOPED_TRACE(absl::StrCat(dtype, " ", kind));
      const LoopProgram program = MustParse(Program(dtype, kind));
      ASSERT_TRUE(Verify(program).ok()) << Verify(program);
      std::map<std::string, CompilesOnce> backends;
      for (uint32_t seed = 0; seed < 8; ++seed) {
        fuzz::Trial trial(program, fuzz::KindOf(seed), seed);
        for (const fuzz::ComparedTier& tier : fuzz::ComparedTiers()) {
          if (!tier.available) {
            if (tier.name == "jit-avx2") GTEST_SKIP() << "needs AVX2";
            continue;
          }
          const Backend& backend =
              backends.try_emplace(tier.name, tier.backend()).first->second;
          EXPECT_EQ(trial.Try(backend), "") << tier.name;
        }
      }
    }
  }
}

// Otherwise the test above would show nothing.
TEST(JitSpillTest, TheProgramsDoSpill) {
  const LoopProgram program = MustParse(Program("f32", "vec"));
  EXPECT_TRUE(absl::StrContains(*jit::Listing(program, jit::Isa::kAvx2),
                                "vmovups [rsp+"));
  EXPECT_TRUE(absl::StrContains(*jit::Listing(program, jit::Isa::kAvx512),
                                "vmovups [rsp+"));
}

}  // namespace
}  // namespace ocannl
