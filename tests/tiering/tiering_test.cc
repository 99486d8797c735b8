// SPDX-License-Identifier: Apache-2.0
//
// Promotion from one tier to the other changes no bit of any run.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tiering/tiered_backend.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_program.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

// Every run starts from the state that the last one left; the temp is memory of
// the routine on one tier and of the executable on the other.
constexpr char kProgram[] = R"(
p (k : [0..9]):
  in x : f32[10, 16];
  inout y : f32[16];
  temp t : f32[16];
  for i0 = 0 to 15 { t[i0] := exp(x[k, i0]) / 3; }
  for i1 = 0 to 15 { y[i1] := fma(y[i1], 0.7, t[i1] * t[15 - i1]); }
)";

// A context with a routine of kProgram.
class Runner {
 public:
  explicit Runner(const Backend* backend) : host_(backend) {
    const LoopProgram program = MustParse(kProgram);
    for (const auto& [name, array] : FillInputs(program)) {
      CHECK_OK(host_.context.Write(name, array));
    }
    absl::StatusOr<Routine> routine = host_.context.CompileAndLink(program);
    CHECK_OK(routine);
    routine_.push_back(*std::move(routine));
  }

  NdArray Run(int64_t k) {
    CHECK_OK(routine_[0].Set("k", k));
    CHECK_OK(routine_[0].Run());
    return *host_.context.Read("y");
  }

 private:
  TestDevice host_;
  std::vector<Routine> routine_;  // one
};

TEST(TieringTest, ChangesNoBitOfAnyRun) {
  const interp::InterpBackend interp;
  for (const std::string& tier : AvailableTiers()) {
    for (double background_seconds : {0., 1e9}) {
      // Compiling for the second tier comes after some runs.
      const Tiering tiering{.first = &interp,
                            .second = *FindTier(tier, {.threads = 2}),
                            .operation_seconds = 0,
                            .background_seconds = background_seconds};
      TieredBackend tiered(tiering, {.report = true});
      Runner runner(&tiered);
      Runner expected(&interp);
      int64_t runs = 0;
      // Until it runs on the second tier, and some times there.
      for (int left = 100; left > 0;) {
        const int64_t k = runs++ % 10;
        EXPECT_TRUE(SameBits(runner.Run(k), expected.Run(k)))
            << tier << ", run " << runs;
        bool promoted = tiered.Report().find("; compiled") != std::string::npos;
        if (promoted) --left;
      }
      EXPECT_GT(runs, 100) << tiered.Report();
    }
  }
}

}  // namespace
}  // namespace ocannl
