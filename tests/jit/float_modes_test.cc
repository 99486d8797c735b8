// SPDX-License-Identifier: Apache-2.0
//
// The rounding mode that a foreign library has left behind changes no bit, on
// any tier.
#include <cfenv>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_program.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ocannl {
namespace {

// Inexact quotients, subnormal products and constants to fold; enough of them
// for threads to share.
constexpr char kProgram[] = R"(
p ():
  in x : f32[4096, 16];
  out y : f32[4096, 16];
  out z : f32[1];
  out half : f16[4096, 16];
  out brain : bf16[4096, 16];
  out wide : f32[4096, 16];
  for i0 = 0 to 4095 {
    for i1 = 0 to 15 {
      y[i0, i1] := exp(x[i0, i1] * 30.1) / 3 * 1e-20 * 1e-6;
      half[i0, i1] := f16(x[i0, i1] * 1e-6);
      brain[i0, i1] := bf16(x[i0, i1] * 1e-20 * 1e-19);
      wide[i0, i1] := f32(half[i0, i1]) * (f32(brain[i0, i1]) * 1e20);
    }
  }
  z[0] := 1 / 3 + 1e-20 * 1e-22;
)";

absl::StatusOr<RunResult> Results(const LoopProgram& program,
                                  const Arrays& inputs,
                                  const std::string& tier) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend,
                          FindTier(tier, {.threads = 2}));
  OCANNL_ASSIGN_OR_RETURN(LoopProgram optimized, Optimize(program, {}));
  return RunProgram(optimized, inputs, *backend);
}

std::vector<std::function<void()>> Modes() {
  std::vector<std::function<void()>> modes = {
      [] { std::fesetround(FE_UPWARD); },
      [] { std::fesetround(FE_TOWARDZERO); }};
#if defined(__x86_64__)
  modes.push_back([] { _mm_setcsr(_mm_getcsr() | 0x8040); });  // FTZ and DAZ
#endif
  return modes;
}

TEST(FloatModesTest, ChangeNoBit) {
  const LoopProgram program = MustParse(kProgram);
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  const Arrays inputs = FillInputs(program);
  std::fenv_t usual;
  std::fegetenv(&usual);
  std::vector<std::pair<std::string, RunResult>> results;
  // The default comes last: threads of a tier that start under another mode
  // keep it.
  for (const std::function<void()>& set_mode : Modes()) {
    for (const std::string& tier : tiers) {
      set_mode();
      absl::StatusOr<RunResult> result = Results(program, inputs, tier);
      std::fesetenv(&usual);
      ASSERT_TRUE(result.ok()) << result.status();
      results.emplace_back(tier, *std::move(result));
    }
  }
  absl::StatusOr<RunResult> expected = Results(program, inputs, "interp");
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const auto& [tier, result] : results) {
    EXPECT_EQ(Difference(*expected, result), "") << tier;
  }
}

}  // namespace
}  // namespace ocannl
