// SPDX-License-Identifier: Apache-2.0
//
// Fit on a line of noisy points, on the interpreter: 1 s.
#include "ocannl/train/fit/fit.h"

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/checkpoint/series.h"
#include "ocannl/train/graph/params_hash.h"
#include "ocannl/train/optim/schedule.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kExamples = 27;  // batches of 4 leave some out
constexpr int64_t kBatches = 6;

FitData Points() {
  std::vector<float> x, y;
  for (int k = 0; k < kExamples; ++k) {
    x.push_back(static_cast<float>(k) / kExamples - 0.5f);
    y.push_back(2 * x.back() + 0.1f * static_cast<float>(k % 3));
  }
  const NdArray inputs = NdArray::Of<float>({kExamples, 1}, x);
  const NdArray outputs = NdArray::Of<float>({kExamples, 1}, y);
  return {.train = {{"x", inputs}, {"y", outputs}},
          .test = {{"test_x", inputs}, {"test_y", outputs}},
          .batch_size = 4,
          .shuffle = true};
}

// With dropout, whose cells depend on the step.
absl::StatusOr<FitNet> Net(Graph& graph) {
  const Mlp mlp({&graph, ""}, {.sizes = {8, 1}});
  return FitNet{
      .loss = [=](absl::Span<const Tensor> batch,
                  Training* training) -> absl::StatusOr<Tensor> {
        const Tensor y = mlp(Dropout(batch[0], 0.1, training));
        return Named(MeanSquaredError(y, batch[1]), "loss");
      },
      .measures =
          [=](absl::Span<const Tensor> batch) -> absl::StatusOr<NamedTensors> {
        const Tensor loss = MeanSquaredError(mlp(batch[0]), batch[1]);
        return NamedTensors{{"test_loss", Named(loss, "test_loss")}};
      }};
}

FitOptions Options(int64_t epochs = 6) {
  return {.epochs = epochs,
          .rule = Adam(),
          .rate =
              [](Graph& graph, int32_t step, int64_t steps) {
                return LinearRate(graph, step, 0.05, 0.01, steps);
              },
          .quiet = true};
}

std::string PathOf(absl::string_view name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

absl::StatusOr<std::unique_ptr<Fitted>> TrainNet(const FitOptions& options) {
  return Fit(TestDevice::Interpreter(), Net, Points(), options);
}

// What a run leaves: the parameters, and the last epoch's loss.
std::string Left(const absl::StatusOr<std::unique_ptr<Fitted>>& fitted) {
  CHECK_OK(fitted.status());
  const Fitted& f = **fitted;
  auto hash = ParamsHash(*f.context, f.code->parameters);
  CHECK_OK(hash);
  return absl::StrCat(*hash, " ", f.history.mean_loss(), " ",
                      *f.history.first_loss, " ", f.history.steps_done);
}

TEST(FitTest, LearnsAndMeasures) {
  FitOptions options = Options(40);
  std::vector<EpochMetrics> epochs;
  options.lines = 2;
  options.log = PathOf("log.jsonl");
  options.after_epoch = [&](const EpochMetrics& epoch) {
    epochs.push_back(epoch);
    return absl::OkStatus();
  };
  const auto fitted = TrainNet(options);
  ASSERT_THAT(fitted, IsOk());
  ASSERT_EQ(epochs.size(), 40u);
  EXPECT_EQ(epochs[39].step, 40 * kBatches);
  EXPECT_EQ(epochs[39].loss, (*fitted)->history.mean_loss());
  EXPECT_TRUE(epochs[0].measures.empty());  // every 20th is told of
  ASSERT_EQ(epochs[19].measures.size(), 1u);
  EXPECT_EQ(epochs[39].measures[0].first, "test_loss");
  EXPECT_LT(epochs[39].measures[0].second, 0.02);
  EXPECT_EQ((*fitted)->history.losses.size(), 40u * kBatches);
  const auto log = ReadFile(options.log);
  CHECK_OK(log);
  EXPECT_THAT(*log, HasSubstr(R"({"epoch":40,"step":240,)"));
}

// The lines of the slides, which change no bits.
TEST(FitTest, TellsOfEachBatch) {
  const auto plain = TrainNet(Options(2));
  const std::string expected = Left(plain);
  const FitHistory& history = (*plain)->history;
  for (const int64_t shards : {1, 2}) {
    FitOptions options = Options(2);
    options.shards = shards;
    options.quiet = false;
    options.batch_lines = true;
    testing::internal::CaptureStdout();
    const auto told = TrainNet(options);
    const std::string text = testing::internal::GetCapturedStdout();
    ASSERT_THAT(told, IsOk());
    EXPECT_THAT(text, HasSubstr("\nEpoch=2, step=9, batch=3, lr="));
    if (shards > 1) continue;  // another order of sums
    EXPECT_EQ(Left(told), expected);
    double sum = 0;
    for (int64_t k = 0; k < 2 * kBatches; ++k) {
      if (k == kBatches) sum = 0;
      sum += history.losses[k];
      EXPECT_THAT(text,
                  HasSubstr(absl::StrFormat(
                      "Epoch=%d, step=%d, batch=%d, lr=%.4g, loss=%.4g, epoch "
                      "loss=%.4g\n",
                      k / kBatches + 1, k, k % kBatches, history.rates[k],
                      history.losses[k], sum)));
    }
  }
}

TEST(FitTest, ARunThatGoesOnHasTheSameBits) {
  for (const int64_t shards : {1, 2}) {
    FitOptions whole = Options();
    whole.shards = shards;
    const std::string expected = Left(TrainNet(whole));
    FitOptions part = whole;
    part.save = PathOf(absl::StrCat("half_", shards, ".npz"));
    part.epochs_now = 2;
    EXPECT_NE(Left(TrainNet(part)), expected);
    FitOptions rest = whole;
    rest.load = part.save;
    EXPECT_EQ(Left(TrainNet(rest)), expected) << shards;
  }
}

TEST(FitTest, ShardsHaveTheSameBitsEachTime) {
  FitOptions options = Options();
  options.shards = 4;
  const auto first = TrainNet(options);
  EXPECT_EQ(Left(first), Left(TrainNet(options)));
  // The shards of a batch train as the batch does.
  const auto one = TrainNet(Options());
  ASSERT_THAT(one, IsOk());
  EXPECT_NEAR((*first)->history.measures[0].second,
              (*one)->history.measures[0].second, 0.05);
}

TEST(FitTest, CheckpointsByInterval) {
  FitOptions options = Options();
  const std::string expected = Left(TrainNet(options));
  options.checkpoints = PathOf("every_5");
  options.checkpoint_every = "5";
  FitOptions stopped = options;
  stopped.after_epoch = [](const EpochMetrics& epoch) {
    return epoch.epoch == 3 ? absl::AbortedError("enough") : absl::OkStatus();
  };
  EXPECT_THAT(TrainNet(stopped),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("enough")));
  auto series = CheckpointSeries::Open(options.checkpoints, 3);
  CHECK_OK(series);
  EXPECT_THAT(*series->Steps(), ElementsAre(5, 10, 15));
  EXPECT_EQ(Left(TrainNet(options)), expected);
}

TEST(FitTest, ASignalSaves) {
  const std::string expected = Left(TrainNet(Options()));
  FitOptions options = Options();
  options.save = PathOf("signal.npz");
  options.after_epoch = [](const EpochMetrics& epoch) {
    if (epoch.epoch == 2) std::raise(SIGINT);
    return absl::OkStatus();
  };
  EXPECT_THAT(TrainNet(options),
              StatusIs(absl::StatusCode::kCancelled,
                       HasSubstr(absl::StrCat("after 13 steps; ", options.save,
                                              " has what was trained"))));
  options.load = options.save;
  options.after_epoch = nullptr;
  EXPECT_EQ(Left(TrainNet(options)), expected);
}

TEST(FitTest, ItsStepNeedsTheOrderOfAnEpoch) {
  const auto code = MakeFitCode(Net, Points(), Options());
  ASSERT_THAT(code, IsOk());
  TestDevice host;
  const auto started = (*code)->Start(host.context);
  ASSERT_THAT(started, IsOk());
  auto step = ToRoutine(*started, (*code)->step, {});
  ASSERT_THAT(step, IsOk());
  for (const char* index : {"batch_n", "step"}) {
    ASSERT_THAT(step->Set(index, 0), IsOk());
  }
  EXPECT_THAT(step->Run(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("`train_order`, which was never written")));
  ASSERT_THAT((*code)->StartEpoch(step->context(), 0), IsOk());
  EXPECT_THAT(step->Run(), IsOk());
}

TEST(FitTest, AnErrorBeforeTheTrainingStopsIt) {
  FitOptions options = Options();
  options.before_training = [](const Model&, const Assignments& step) {
    EXPECT_EQ(step.name, "step");
    return absl::AbortedError("no");
  };
  options.after_epoch = [](const EpochMetrics&) {
    ADD_FAILURE();
    return absl::OkStatus();
  };
  EXPECT_THAT(TrainNet(options), StatusIs(absl::StatusCode::kAborted, "no"));
}

TEST(FitTest, AnotherCourseIsRefused) {
  FitOptions options = Options();
  options.name = "line";
  options.settings = {{.name = "points", .value = "27"}};
  options.save = PathOf("course.npz");
  options.epochs_now = 1;
  CHECK_OK(TrainNet(options).status());
  options.load = options.save;
  FitOptions other = options;
  other.settings[0].value = "28";
  EXPECT_THAT(std::string(TrainNet(other).status().message()),
              HasSubstr("saved with points=27, and this run has points=28;"));
  other = options;
  other.seed = 7;
  EXPECT_THAT(std::string(TrainNet(other).status().message()),
              HasSubstr("saved with seed=1, and this run has seed=7;"));
  other = options;
  other.epochs = 1;
  EXPECT_THAT(std::string(TrainNet(other).status().message()),
              HasSubstr("6 steps are done, and 6 are to be; give epochs more "
                        "than 1"));
  other.epochs = 9;  // may differ
  EXPECT_THAT(TrainNet(other), IsOk());
}

void ExpectRefused(absl::string_view part, const FitOptions& options,
                   const FitData& data = Points(), MakeFitNet net = Net) {
  const auto fitted = Fit(TestDevice::Interpreter(), net, data, options);
  EXPECT_THAT(fitted, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr(std::string(part))));
}

// The first of two ranks, whose messages fail.
struct Pair : Communicator {
  int rank() const override { return 0; }
  int ranks() const override { return 2; }
  absl::Status Send(int, absl::Span<const std::byte>) override {
    return absl::InternalError("sent");
  }
  absl::Status Receive(int, absl::Span<std::byte>) override {
    return absl::InternalError("received");
  }
  void Abort(absl::string_view) override {}
};

TEST(FitTest, BadOptionsAreRefused) {
  FitOptions options = Options();
  options.epochs = 0;
  ExpectRefused("epochs is 0; it must be finite and above 0", options);
  options = Options();
  options.shards = 3;
  ExpectRefused("3", options);  // does not divide the batch
  Pair pair;
  options.shards = 1;
  options.communicator = &pair;
  ExpectRefused("shards is 1, less than the 2 ranks", options);
  options = Options();
  options.rule = Sgd({.momentum = 2});
  ExpectRefused("momentum is 2", options);
  options = Options();
  options.checkpoint_every = "5";
  ExpectRefused("checkpoint_every=5 needs checkpoints=DIR", options);
  options.checkpoints = PathOf("none");
  options.checkpoint_every = "soon";
  ExpectRefused("checkpoint_every: ", options);
  options = Options();
  options.save = PathOf("model.txt");
  ExpectRefused("must end in .npz or .safetensors", options);
  options = Options();
  ExpectRefused("the function of the network is null", options, Points(),
                nullptr);
  ExpectRefused("the function of the loss is null", options, Points(),
                [](Graph&) -> absl::StatusOr<FitNet> { return FitNet{}; });
  FitData data = Points();
  data.batch_size = 28;
  ExpectRefused("the 27 examples to train fill no batch of 28", options, data);
  data = Points();
  data.train[1].values = NdArray(DType::kF32, {5, 1});
  ExpectRefused("`y` has 5 examples and `x` 27", options, data);
  data = Points();
  data.train[0].batch_axes = 3;
  ExpectRefused("`x` has 2 axes, of which 3 are batch axes", options, data);
  data.train.clear();
  ExpectRefused("no arrays to train on", options, data);
  EXPECT_THAT(Fit(nullptr, Net, Points(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the backend is null")));
}

}  // namespace
}  // namespace ocannl::train
