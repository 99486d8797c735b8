// SPDX-License-Identifier: Apache-2.0
//
// Machine code that one process leaves in a directory gives another one the
// interpreter's bits.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/jit/compiled_program.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_program.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

// A helper call, constants, a private buffer, a temp, a static index and a loop
// that threads share.
constexpr char kProgram[] = R"(
p (step : [0..6]):
  in x : f32[64, 19];
  in n : i64[7];
  out y : f32[64, 19];
  out q : i64[7];
  temp t : f32[64];
  private s : f32[19];
  for i0 = 0 to 6 { q[i0] := n[i0] / (n[i0] * n[i0] + i64(3)) + [step]; }
  par i1 = 0 to 63 {
    for i2 = 0 to 18 { s[i2] := exp(x[i1, i2]); }
    t[i1] := 0;
    for i3 = 0 to 18 { t[i1] := t[i1] + s[18 - i3]; }
  }
  par i4 = 0 to 63 { for i5 = 0 to 18 { y[i4, i5] := t[63 - i4] * 0.1; } }
)";

std::string Directory() { return testing::TempDir() + "/code_cache_test"; }

// Of the tiers that compile.
std::vector<std::string> Tiers() {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.erase(tiers.begin());
  return tiers;
}

absl::StatusOr<RunResult> Results(const LoopProgram& program,
                                  const std::string& tier) {
  OCANNL_ASSIGN_OR_RETURN(
      const Backend* backend,
      FindTier(tier, {.threads = 3, .code_cache = Directory()}));
  return RunProgram(program, FillInputs(program), *backend);
}

std::string Report(const std::string& tier) {
  return (*FindTier(tier, {.threads = 3, .code_cache = Directory()}))->Report();
}

[[noreturn]] void FillCache() {
  std::filesystem::remove_all(Directory());
  const LoopProgram program = MustParse(kProgram);
  for (const std::string& tier : Tiers()) CHECK_OK(Results(program, tier));
  std::exit(0);
}

TEST(CodeCacheTest, AnotherProcessRunsTheCode) {
  if (Tiers().empty()) GTEST_SKIP() << "needs AVX2";
  // The other process starts from scratch: nothing is where it is in this one.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ASSERT_EXIT(FillCache(), testing::ExitedWithCode(0), "");
  LoopProgram program = MustParse(kProgram);
  absl::StatusOr<RunResult> expected = RunProgram(program, FillInputs(program));
  ASSERT_TRUE(expected.ok()) << expected.status();
  // Names do not matter.
  program.name = "another";
  for (const std::string& tier : Tiers()) {
    absl::StatusOr<RunResult> result = Results(program, tier);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(Difference(*expected, *result), "") << tier;
  }
  EXPECT_EQ(Report(Tiers()[0]),
            absl::StrCat("code in ", Directory(), ": ", Tiers().size(),
                         " programs found, 0 kept\n"));
  EXPECT_THAT(Report("auto"), HasSubstr("tiers: interp, then x86"));
  EXPECT_THAT(Report("auto"), HasSubstr("programs found"));
}

// What is cut, or has too large a size in it, is nothing.
TEST(CodeCacheTest, BytesAreAProgramOrNothing) {
  jit::CompiledProgram compiled{
      .image = {.bytes = std::string(9, '\xc3'),
                .sections = {{.begin = 0, .iterations = 3, .nest = 0}},
                .buffers = {{1}, {4}},
                .run_helper = 0},
      .plan = {.callers = {{.buffer = 1, .at = 0}}, .num_buffers = 5}};
  const std::string bytes = jit::ToBytes(compiled);
  std::optional<jit::CompiledProgram> same = jit::FromBytes(bytes);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->image.sections[0].iterations, 3);
  EXPECT_EQ(same->plan.num_buffers, 5);
  EXPECT_EQ(jit::ToBytes(*same), bytes);
  EXPECT_FALSE(jit::FromBytes(bytes + "x").has_value());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(jit::FromBytes(bytes.substr(0, size)).has_value()) << size;
  }
  std::string large = bytes;
  large[7] = '\x7f';  // the size of the code
  EXPECT_FALSE(jit::FromBytes(large).has_value());
  compiled.image.run_helper = -2;
  EXPECT_FALSE(jit::FromBytes(jit::ToBytes(compiled)).has_value());
  compiled.image.run_helper = 2;  // an address would not fit behind it
  EXPECT_FALSE(jit::FromBytes(jit::ToBytes(compiled)).has_value());
}

// A program may leave nothing to compile.
TEST(CodeCacheTest, NoCodeIsCodeToo) {
  const jit::CompiledProgram none;
  std::optional<jit::CompiledProgram> same = jit::FromBytes(jit::ToBytes(none));
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->image.bytes, "");
  EXPECT_EQ(same->image.run_helper, -1);
}

}  // namespace
}  // namespace ocannl
