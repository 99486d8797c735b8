// SPDX-License-Identifier: Apache-2.0
//
// `run --tier=all` on tiers that are all right is in tests/golden; here one of
// them is wrong.
#include "ocannl/tiers/compare_tiers.h"

#include <string>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/agree/faulty_backend.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_program.h"

namespace ocannl {
namespace {

// Negation of 0 by subtraction loses the sign.
constexpr char kProgram[] = R"(
p ():
  in x : f32[2, 3];
  out z : f32[2, 3];
  out y : f32[2, 3];
  for i0 = 0 to 1 {
    for i1 = 0 to 2 {
      z[i0, i1] := x[i0, i1];
      y[i0, i1] := neg(x[i0, i1]);
    }
  }
)";

absl::StatusOr<Results> ResultsOf(const LoopProgram& program,
                                  const Backend& backend) {
  NdArray x(DType::kF32, {2, 3});
  x.values<float>()[0] = 1;
  x.values<float>()[1] = 2;
  absl::StatusOr<RunResult> result = RunProgram(program, {{"x", x}}, backend);
  CHECK_OK(result);
  return Results{result->at("z"), result->at("y")};
}

TEST(CompareTiersTest, NamesTierBufferIndexAndBothValues) {
  const LoopProgram program = MustParse(kProgram);
  const interp::InterpBackend interp;
  const interp::InterpBackend again;
  auto run = [&](const NamedTier& tier) {
    return ResultsOf(program, *tier.backend);
  };
  absl::StatusOr<Results> same =
      CompareTiers({{"one", &interp}, {"two", &again}}, program, run);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ((*same)[1].AsDouble(1), -2);

  for (const fuzz::Fault& fault : fuzz::Faults()) {
    if (fault.name != "negates_by_subtracting") continue;
    const fuzz::FaultyBackend faulty(&fault);
    absl::StatusOr<Results> differ = CompareTiers(
        {{"one", &interp}, {"two", &again}, {"three", &faulty}}, program, run);
    EXPECT_EQ(std::string(differ.status().message()),
              "three differs from one: y[0, 2] is 0 (bits 0), not -0 (bits "
              "0x80000000); 4 of 6 cells differ");
    return;
  }
  FAIL() << "no such fault";
}

}  // namespace
}  // namespace ocannl
