// SPDX-License-Identifier: Apache-2.0
//
// Each iteration of a parallel loop runs once, before the next nest begins,
// with any number of threads, of which loops may have fewer iterations.
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/runtime/threads/worker.h"
#include "ocannl/jit/x86_backend.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_program.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

// The second nest reads what other threads have written in the first one.
constexpr char kNests[] = R"(
p ():
  inout x : f32[ROWS, 8];
  inout y : f32[ROWS, 8];
  par i0 = 0 to LAST {
    for i1 = 0 to 7 { x[i0, i1] := x[i0, i1] + 1; }
  }
  par i2 = 0 to LAST {
    for i3 = 0 to 7 { y[i2, i3] := y[i2, i3] + x[LAST - i2, i3]; }
  }
)";

class ParallelLoopsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!jit::IsSupported(jit::Isa::kAvx2)) GTEST_SKIP() << "needs AVX2";
  }

  static void ExpectBitsOfInterpreter(int threads) {
    const jit::X86Backend backend(jit::Isa::kAvx2,
                                  {.threads = threads, .schedules = false});
    for (int64_t extent : {1, 2, 3, 7, 41, 100, 333}) {
      const LoopProgram program = MustParse(
          absl::StrReplaceAll(kNests, {{"ROWS", absl::StrCat(extent)},
                                       {"LAST", absl::StrCat(extent - 1)}}));
      const Arrays inputs = FillInputs(program);
      const auto expected = RunProgram(program, inputs);
      ASSERT_THAT(expected, IsOk());
      for (int round = 0; round < 20; ++round) {
        const auto result = RunProgram(program, inputs, backend);
        ASSERT_THAT(result, IsOk());
        ASSERT_EQ(Difference(*expected, *result), "") << extent;
      }
    }
  }
};

TEST_F(ParallelLoopsTest, OfATeam) {
  for (int threads : {1, 2, 3, 5, 8}) {
    SCOPED_TRACE(threads);
    ExpectBitsOfInterpreter(threads);
  }
}

TEST_F(ParallelLoopsTest, OfWorkers) {
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Worker*> members;
  for (int size : {2, 3, 5}) {
    SCOPED_TRACE(size);
    while (static_cast<int>(members.size()) < size - 1) {
      workers.push_back(std::make_unique<Worker>());
      members.push_back(workers.back().get());
    }
    Team team(absl::MakeConstSpan(members));
    const Team::Scope scope(&team);
    ExpectBitsOfInterpreter(/*threads=*/1);
  }
}

}  // namespace
}  // namespace ocannl
