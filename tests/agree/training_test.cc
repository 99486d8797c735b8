// SPDX-License-Identifier: Apache-2.0
//
// Training runs of every workload that the benchmark trains: the losses of all
// steps and the buffers at the end have the same bits on each tier and with any
// number of threads.
#include "experiments/bench/training.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/programs.h"
#include "experiments/moons_plain.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tiering/first_difference.h"
#include "ocannl/tiers/tiers.h"
#include "tests/agree/faulty_backend.h"

namespace ocannl {
namespace {

constexpr int kThreads[] = {1, 2, 3, 8};

struct Runner {
  std::string name;
  const Backend* backend;
};

// The interpreter first, then the tiers that must do as it does.
std::vector<Runner> Runners() {
  std::vector<Runner> runners;
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    for (int threads : kThreads) {
      absl::StatusOr<const Backend*> backend =
          FindTier(tier, {.threads = threads});
      CHECK_OK(backend);
      runners.push_back(
          {absl::StrCat(tier, " with ", threads, " threads"), *backend});
      if (tier == "interp") break;
    }
  }
  return runners;
}

struct Trained {
  std::vector<float> losses;     // one a step
  std::vector<NdArray> buffers;  // those that are written, at the end
};

Trained Train(const Training& training, int64_t steps, const Backend& backend) {
  auto executable = backend.Compile(training.step);
  CHECK_OK(executable);
  auto bound = BoundProgram::Make(training.step, training.first_values);
  CHECK_OK(bound);
  Trained trained;
  for (int64_t step = 0; step < steps; ++step) {
    (*bound)->SetStep(step);
    (*executable)->Run((*bound)->buffers(), (*bound)->statics());
    trained.losses.push_back((*bound)->numbers(training.loss)[0]);
  }
  for (const Buffer& buffer : training.step.buffers) {
    if (!IsResult(buffer.role)) continue;
    trained.buffers.emplace_back(buffer.dtype, buffer.dims);
    absl::c_copy((*bound)->numbers(buffer.name),
                 trained.buffers.back().values<float>().begin());
  }
  return trained;
}

// Where the runs differ first, with both values; empty where they do not.
std::string Difference(const Training& training, const Trained& expected,
                       const Trained& actual) {
  const auto steps = static_cast<int64_t>(expected.losses.size());
  const Buffer losses{"losses", DType::kF32, Role::kOut, {steps}};
  auto as_array = [&](const Trained& trained) {
    NdArray array(DType::kF32, {steps});
    absl::c_copy(trained.losses, array.values<float>().begin());
    return array;
  };
  std::string difference =
      FirstDifference(losses, as_array(expected), as_array(actual));
  size_t next = 0;
  for (const Buffer& buffer : training.step.buffers) {
    if (!difference.empty()) return difference;
    if (!IsResult(buffer.role)) continue;
    difference =
        FirstDifference(buffer, expected.buffers[next], actual.buffers[next]);
    ++next;
  }
  return difference;
}

// Runs that only repeat a number prove nothing.
void ExpectProgress(const Trained& trained) {
  for (float loss : trained.losses) EXPECT_TRUE(std::isfinite(loss)) << loss;
  EXPECT_LT(trained.losses.back(), trained.losses.front());
}

void ExpectAgreement(const Training& training, int64_t steps) {
  const std::vector<Runner> runners = Runners();
  const Trained expected = Train(training, steps, *runners[0].backend);
  ExpectProgress(expected);
  if (AvailableTiers().size() == 1) {
    GTEST_SKIP() << "needs AVX2: there is one tier to train on";
  }
  for (size_t k = 1; k < runners.size(); ++k) {
    const Trained actual = Train(training, steps, *runners[k].backend);
    EXPECT_EQ(Difference(training, expected, actual), "")
        << runners[k].name << " against " << runners[0].name;
  }
}

TEST(TrainingTest, MoonsAgrees) {
  absl::StatusOr<Moons> moons = PrepareMoons();
  ASSERT_TRUE(moons.ok()) << moons.status();
  ExpectAgreement(moons->training, kMoonsSteps);
}

class MlpTrainingTest : public testing::TestWithParam<NamedMlp> {};

// At a rate at which each of them learns, and for as many steps as are quick.
// Of 256 examples the interpreter would take five seconds a step.
TEST_P(MlpTrainingTest, Agrees) {
  Mlp mlp = GetParam().mlp;
  mlp.batch = std::min<int64_t>(mlp.batch, 32);
  mlp.rate = 0.01 / static_cast<double>(*absl::c_max_element(mlp.sizes));
  absl::StatusOr<Training> training = MlpTraining(mlp);
  ASSERT_TRUE(training.ok()) << training.status();
  const double work = AssignmentRuns(training->step);
  const auto steps = static_cast<int64_t>(std::clamp(4e7 / work, 2., 50.));
  ExpectAgreement(*training, steps);
}

// And one with sizes that fit neither tiles nor vectors.
std::vector<NamedMlp> Mlps() {
  std::vector<NamedMlp> mlps = TrainingMlps();
  mlps.push_back({"mlp/uneven", {.sizes = {100, 256, 303, 10}, .batch = 53}});
  return mlps;
}

INSTANTIATE_TEST_SUITE_P(
    Mlps, MlpTrainingTest, testing::ValuesIn(Mlps()), [](const auto& instance) {
      return absl::StrReplaceAll(instance.param.name, {{"/", "_"}});
    });

// What goes wrong in one rounding shows.
TEST(TrainingTest, FaultsShow) {
  absl::StatusOr<Moons> moons = PrepareMoons();
  ASSERT_TRUE(moons.ok()) << moons.status();
  const Training& training = moons->training;
  const Trained expected =
      Train(training, /*steps=*/20, *FindTier("interp").value());
  for (const fuzz::Fault& fault : fuzz::Faults()) {
    if (fault.name != "rounds_fma_twice") continue;
    const fuzz::FaultyBackend faulty(&fault);
    EXPECT_NE(Difference(training, expected, Train(training, 20, faulty)), "");
    return;
  }
  FAIL() << "no such fault";
}

}  // namespace
}  // namespace ocannl
