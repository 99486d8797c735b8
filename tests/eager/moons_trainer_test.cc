// SPDX-License-Identifier: Apache-2.0
//
// The half-moons network declared, eager, and compiled from the same loss: all
// parameters have the same bits after training, on every tier.
#include "experiments/moons_trainer.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

constexpr int kSteps = 120;  // three epochs

const MoonsOptions& Options() {
  static const auto* options = new MoonsOptions{.epochs = 3};
  return *options;
}

// The parameters, in the order of MoonsLoss, after so many declared steps.
std::vector<NdArray> Declared(const Backend* backend,
                              const LabelledPoints& points, int steps) {
  auto moons = MakeMoons(points, Options());
  CHECK_OK(moons.status());
  TestDevice host(backend);
  const auto started = (*moons)->Start(host.context);
  auto step = ToRoutine(*started, (*moons)->step, {});
  for (int k = 0; k < steps; ++k) {
    CHECK_OK(step->Set("batch_n", k % 40));
    CHECK_OK(step->Set("step", k));
    CHECK_OK(step->Run());
  }
  std::vector<NdArray> values;
  for (const char* name : {"w1", "b1", "w2", "b2", "w3"}) {
    values.push_back(*step->context().Read(name));
  }
  return values;
}

class MoonsTrainerTest : public testing::TestWithParam<std::string> {};

TEST_P(MoonsTrainerTest, SameBitsInEveryMode) {
  const LabelledPoints points = *HalfMoons(200, 1);
  const Backend* backend = *FindTier(GetParam());
  const std::vector<NdArray> first = Declared(backend, points, 0);
  const std::vector<NdArray> declared = Declared(backend, points, kSteps);
  for (train::TrainerMode mode :
       {train::TrainerMode::kEager, train::TrainerMode::kCompiled}) {
    auto moons = MoonsTrainer::Make(backend, first, points, Options(), mode);
    ASSERT_THAT(moons, IsOk());
    for (int k = 0; k < kSteps; ++k)
      ASSERT_THAT((*moons)->Step(k % 40), IsOk());
    auto trained = (*moons)->trainer().GetParams();
    ASSERT_THAT(trained, IsOk());
    for (size_t k = 0; k < trained->size(); ++k) {
      EXPECT_TRUE(SameBits((*trained)[k], declared[k])) << "parameter " << k;
      EXPECT_FALSE(SameBits((*trained)[k], first[k])) << "parameter " << k;
    }
    EXPECT_EQ((*moons)->trainer().session().recordings(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, MoonsTrainerTest,
                         testing::Values("interp", "auto"));

}  // namespace
}  // namespace ocannl
