// SPDX-License-Identifier: Apache-2.0
//
// Trainings of tier auto, with checkpoints, predictions and maps of Eigen
// between their steps, have the bits of the interpreter wherever their arrays
// are. Takes about 6 s.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/eigen.h"
#include "ocannl/ocannl.h"
#include "tests/cuda/migration.h"
#include "tests/support/fit_squares.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/owner_hash.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// A training whose parameters are restored from a file after each step, eight
// times, so that they are copied: it does not pay to stay on the GPU.
TEST_F(MigrationTest, ATrainingThatIsRestoredMovesThereAndBack) {
  const std::string path = testing::TempDir() + "/migrating.npz";
  auto hash = [&](const Backend& backend) {
    auto training = FitSquares(&backend, {.threads = 1},
                               "{w = 0.01; o=[5]} * x", 2, 5, 0.05);
    CHECK_OK(training);
    const auto state = train::StateArrays(training->OwnerPrograms());
    for (int step = 0; step < 10; ++step) {
      CHECK_OK(training->Step());
      CHECK_OK(train::SaveParams(path, state, training->OwnerContext()));
      for (int k = 0; k < 8; ++k) {
        CHECK_OK(train::RestoreParams(path, state, training->OwnerContext()));
      }
    }
    return OwnerHash(*training);
  };
  // A run of loss_gradient takes 144 s on the host and nothing on the GPU; to
  // copy w takes 100 s.
  MigrationCosts costs = TestCosts();
  costs.copied_bytes_per_second = 1;
  costs.host.nest_seconds = 48;
  auto backend = Auto(costs);
  EXPECT_EQ(hash(*backend), hash(interp_));
  EXPECT_THAT(backend->Report(),
              ContainsRegex("loss_gradient.*\n.*\n.*\n"
                            "  after . runs, moves to the GPU: .*\n"
                            "  after . runs, moves to the host: "));
}

// The host writes inputs and asks a Predictor between steps, and changes the
// parameters by way of Eigen.
std::string PredictionsBetweenSteps(const Backend& backend) {
  TestDevice host(&backend);
  train::Model model;
  Names names;
  names.tensors = {{"x", Input(model.graph, "x", "5")}};
  const Tensor y =
      Named(MustParseTensor(model.graph, "{w = 0.1; o=[3]} * x", names), "y");
  names.tensors.emplace("y", y);
  const Tensor loss =
      MustParseTensor(model.graph, "square(y - 1) ++ \"...|... => 0\"", names);
  auto predictor = train::Predictor::Make(
      model, MustParseTensor(model.graph, "y + y", names),
      {names.tensors.at("x")}, host.context);
  CHECK_OK(predictor);
  model.computed_by = {};
  auto step = train::StartTraining(model, loss, Number(model.graph, 0.05),
                                   train::Sgd({.momentum = 0.5}), host.context);
  CHECK_OK(step);
  std::string bits;
  auto add = [&](const float* cells, int64_t count) {
    bits.append(reinterpret_cast<const char*>(cells),
                static_cast<size_t>(count) * sizeof(float));
  };
  for (int k = 0; k < 10; ++k) {
    CHECK_OK(host.context.Write("x", Ramp({5}, k)));
    CHECK_OK(step->Run());
    if (k % 3 == 2) {
      CHECK_OK(eigen::FillMap<eigen::Matrix<float>>(
          host.context, "w", [](auto w) { w.row(1) *= 0.75f; }));
    }
    auto answer = predictor->Predict({Ramp({5}, -k)});
    CHECK_OK(answer);
    add(answer->values<float>().data(), 3);
    CHECK_OK(eigen::UseMap<eigen::Matrix<float>>(
        host.context, "w", [&](const auto& w) { add(w.data(), w.size()); }));
  }
  return bits;
}

TEST_F(MigrationTest, PredictionsAndMapsHaveTheValuesOfTheMoment) {
  const std::string expected = PredictionsBetweenSteps(interp_);
  MigrationCosts costs = TestCosts();
  for (double speed : {0.5, 1e9}) {
    costs.copied_bytes_per_second = speed;
    costs.host.nest_seconds = 100;
    auto backend = Auto(costs);
    EXPECT_EQ(PredictionsBetweenSteps(*backend), expected);
    EXPECT_THAT(backend->Report(), HasSubstr("moves to the GPU"));
  }
}

// Fit that stops after an epoch and goes on from its checkpoint.
std::string FittedInTwo(const Backend& backend, int64_t shards) {
  auto fit = [&](train::FitOptions options) {
    options.epochs = 4;
    options.rule = train::Adam();
    options.shards = shards;
    options.quiet = true;
    auto fitted = train::Fit(
        &backend,
        [](Graph& graph) -> absl::StatusOr<train::FitNet> {
          const auto mlp = train::Mlp({&graph, ""}, {.sizes = {8, 5}});
          return train::FitNet{
              .loss = [mlp](absl::Span<const Tensor> batch,
                            train::Training*) -> absl::StatusOr<Tensor> {
                return Named(train::MeanSquaredError(mlp(batch[0]), batch[1]),
                             "loss");
              }};
        },
        {.train = {{"x", Ramp({24, 5}, 1)}, {"y", Ramp({24, 5}, 9)}},
         .batch_size = 4,
         .shuffle = true},
        options);
    CHECK_OK(fitted);
    auto hash =
        train::ParamsHash(*(*fitted)->context, (*fitted)->code->parameters);
    CHECK_OK(hash);
    return absl::StrCat(*hash, " ", (*fitted)->history.mean_loss());
  };
  const std::string path = testing::TempDir() + "/fitted.npz";
  const std::string half = fit({.epochs_now = 2, .save = path});
  return absl::StrCat(half, ", ", fit({.load = path}));
}

TEST_F(MigrationTest, FitGoesOnFromItsCheckpoint) {
  for (int64_t shards : {1, 2}) {
    auto backend = Auto(TestCosts());
    EXPECT_EQ(FittedInTwo(*backend, shards), FittedInTwo(interp_, shards));
    EXPECT_THAT(backend->Report(), HasSubstr("moves to the GPU"));
  }
}

TEST_F(MigrationTest, ExamplesAreTrainedOnAsManyDevices) {
  EXPECT_EQ(SuggestedVirtualDevices(*Auto(TestCosts())),
            SuggestedVirtualDevices(interp_));
  auto losses = [](const Backend& backend) {
    auto examples = [](const char* name, int first) {
      return [=](Graph& graph, const Dims& batch) {
        return Data(graph, name, Ramp({batch[0], batch[1], 5}, first),
                    {.rows = {batch, Dims{5}, Dims{}}});
      };
    };
    VirtualDevices devices(&backend, 2, /*threads=*/1);
    auto trained = train::ExampleTrainLoop(
        devices, {.batch_size = 4, .data_len = 12, .epochs = 5},
        examples("x", 1), examples("y", 7),
        [](Graph& graph) {
          const Tensor w = MustParseTensor(graph, "{w = 0.5; o=[5]}");
          return [w](Tensor input) { return Mul(w, input); };
        },
        [](Tensor output, Tensor expectation) {
          return Square(output - expectation);
        });
    CHECK_OK(trained);
    auto answer = (*trained)->Infer(Ramp({5}, 2));
    CHECK_OK(answer);
    std::vector<double> values = (*trained)->epoch_losses;
    for (int k = 0; k < 5; ++k) values.push_back(answer->AsDouble(k));
    return values;
  };
  auto backend = Auto(TestCosts());
  EXPECT_EQ(losses(*backend), losses(interp_));
  EXPECT_THAT(backend->Report(), HasSubstr("moves to the GPU"));
}

}  // namespace
}  // namespace ocannl
