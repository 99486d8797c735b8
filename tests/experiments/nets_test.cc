// SPDX-License-Identifier: Apache-2.0
//
// The experiments with networks: a few steps leave the same bits on every tier,
// and training comes as far as it is said to.
#include "experiments/nets/nets.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "experiments/nets/pictures.h"
#include "experiments/nets/reversals.h"
#include "experiments/nets/sentences.h"
#include "experiments/nets/supervised.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/fit/fit.h"
#include "ocannl/train/graph/params_hash.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

struct Trained {
  std::string hash;
  double first_loss = 0, loss = 0, hits = 0;  // the latter of the tests
};

absl::StatusOr<Trained> Train(const Lessons& lessons, const MakeNet& net,
                              const SupervisedOptions& options,
                              const Backend* backend) {
  train::FitOptions fit = FitOf(options);
  fit.quiet = true;
  OCANNL_ASSIGN_OR_RETURN(
      const std::unique_ptr<train::Fitted> fitted,
      train::Fit(backend, Classifier(net, lessons.classes, options.dtype),
                 DataOf(lessons, options), fit));
  const train::Measures& measures = fitted->history.measures;
  Trained trained{.hash = "",
                  .first_loss = *fitted->history.first_loss,
                  .loss = measures[0].second,
                  .hits = measures[1].second};
  OCANNL_ASSIGN_OR_RETURN(
      trained.hash,
      train::ParamsHash(*fitted->context, fitted->code->parameters));
  return trained;
}

// On every tier, with one thread and with several.
void ExpectSameBits(const Lessons& lessons, const MakeNet& net,
                    const SupervisedOptions& options) {
  std::vector<std::string> tiers = AvailableTiers();
  if (tiers.size() == 1) {
    GTEST_SKIP() << "needs AVX2: there is one tier to train on";
  }
  tiers.push_back("auto");
  std::string hash;
  for (const std::string& tier : tiers) {
    for (int threads : {1, 2}) {
      if (tier == "interp" && threads > 1) continue;
      absl::StatusOr<const Backend*> backend =
          FindTier(tier, {.threads = threads});
      ASSERT_THAT(backend, IsOk());
      absl::StatusOr<Trained> trained = Train(lessons, net, options, *backend);
      ASSERT_THAT(trained, IsOk());
      if (hash.empty()) hash = trained->hash;
      EXPECT_EQ(trained->hash, hash)
          << tier << " with " << threads << " threads";
    }
  }
}

Trained OnTheFastestTier(const Lessons& lessons, const MakeNet& net,
                         const SupervisedOptions& options) {
  // Another test runs beside this one.
  absl::StatusOr<Trained> trained =
      Train(lessons, net, options, *FindTier("auto", {.threads = 1}));
  CHECK_OK(trained);
  return *trained;
}

TEST(NetsTest, LeNetAgrees) {
  ExpectSameBits(DrawnDigits(12, 4, 1), LeNetOf(), {.batch_size = 4});
}

TEST(NetsTest, LeNetKnowsTheDigits) {
  const Trained trained =
      OnTheFastestTier(DrawnDigits(2000, 500, 1), LeNetOf(), {.epochs = 3});
  EXPECT_LT(trained.loss, 0.05);
  EXPECT_GT(trained.hits, 0.98);
}

// A layer that no gradient reaches is part of what is saved.
TEST(NetsTest, AFrozenLayerIsSaved) {
  const MakeNet net = [](const train::ParamScope& scope) -> Net {
    return [back = train::Linear(scope / "back", {.outputs = Dims{6}}),
            head = train::Linear(scope / "head", {.outputs = Dims{10}})](
               Tensor x, train::Training*) {
      return head(StopGradient(Relu(back(x))));
    };
  };
  const Lessons lessons = DrawnDigits(8, 4, 1);
  const std::string path = testing::TempDir() + "/frozen.npz";
  std::vector<train::Measures> measures;
  for (const uint32_t seed : {1u, 5u}) {
    auto code = MakeSupervised(lessons, net, {.batch_size = 4, .seed = seed});
    CHECK_OK(code);
    const TestDevice host;
    auto context = (*code)->Start(host.context);
    CHECK_OK(context);
    auto step = ToRoutine(*context, (*code)->step, {});
    CHECK_OK(step);
    CHECK_OK(step->Set("batch_n", 0));
    CHECK_OK(step->Set("step", 0));
    CHECK_OK(step->Run());
    auto state =
        train::StateArrays((*code)->model, (*code)->loss, {&step->program()});
    ASSERT_THAT(state, IsOk());
    if (seed == 1) {
      CHECK_OK(train::SaveParams(path, *state, step->context()));
    } else {
      CHECK_OK(train::RestoreParams(path, *state, step->context()));
    }
    auto test = ToRoutine(step->context(), (*code)->test, {});
    CHECK_OK(test);
    auto measured = (*code)->Measure(*test);
    CHECK_OK(measured);
    measures.push_back(*measured);
  }
  EXPECT_EQ(measures[1], measures[0]);
}

// Every fourth cell of every fourth row of pictures: the interpreter takes
// three seconds for three batches of whole ones in narrow floats.
Examples Shrunk(const Examples& whole) {
  const Dims& dims = whole.inputs.dims();
  const int64_t width = dims[2], channels = dims[3];
  const float* cells = whole.inputs.values<float>().data();
  std::vector<float> kept;
  for (int64_t row = 0; row < dims[0] * dims[1]; row += 4) {
    for (int64_t cell = row * width; cell < (row + 1) * width; cell += 4) {
      kept.insert(kept.end(), cells + cell * channels,
                  cells + (cell + 1) * channels);
    }
  }
  return {NdArray::Of<float>({dims[0], dims[1] / 4, width / 4, channels}, kept),
          whole.classes};
}

Lessons SmallPatterns() {
  const Lessons whole = DrawnPatterns(4, 2, 1);
  return {Shrunk(whole.train), Shrunk(whole.test), whole.classes};
}

TEST(NetsTest, CifarConvAgrees) {
  ExpectSameBits(DrawnPatterns(4, 2, 1), CifarConv(), {.batch_size = 2});
}

TEST(NetsTest, CifarConvLearns) {
  const Trained trained =
      OnTheFastestTier(DrawnPatterns(1000, 200, 1), CifarConv(),
                       {.batch_size = 20, .rate = 0.005});
  EXPECT_LT(trained.loss, 1.7);
  EXPECT_GT(trained.hits, 0.4);
}

TEST(NetsTest, LeNetLearnsInNarrowFloats) {
  for (DType dtype : {DType::kBF16, DType::kF16}) {
    const Trained trained = OnTheFastestTier(
        DrawnDigits(2000, 500, 1), LeNetOf(), {.epochs = 3, .dtype = dtype});
    EXPECT_LT(trained.loss, 0.05) << Name(dtype);
    EXPECT_GT(trained.hits, 0.98) << Name(dtype);
  }
}

MakeNet SmallGpt(int64_t length, double dropout, int64_t layers = 2) {
  return Gpt2Mini({.vocabulary = kLetters,
                   .length = length,
                   .layers = layers,
                   .size = 32,
                   .heads = 2,
                   .dropout = dropout});
}

TEST(NetsTest, Gpt2MiniAgrees) {
  ExpectSameBits(LetterLessons(6, 2, 16, 1), SmallGpt(16, 0.1),
                 {.batch_size = 2});
}

TEST(NetsTest, NarrowFloatsAgree) {
  for (DType dtype : {DType::kBF16, DType::kF16}) {
    ExpectSameBits(LetterLessons(4, 2, 16, 1), SmallGpt(16, 0.1, 1),
                   {.batch_size = 2, .dtype = dtype});
  }
  ExpectSameBits(DrawnDigits(8, 4, 1), LeNetOf(),
                 {.batch_size = 4, .dtype = DType::kBF16});
  ExpectSameBits(SmallPatterns(), CifarConv(),
                 {.batch_size = 2, .dtype = DType::kF16});
}

// Sums, counts and scores that f8 does not hold are not stored in it: the loss
// is a number from the first step on. 2 s
TEST(NetsTest, NetsOfF8StayFinite) {
  Reverser reverser({.length = 6, .layers = 1, .size = 16});
  struct Case {
    std::string name;
    Lessons lessons;
    MakeNet net;
  };
  const Case cases[] = {
      {"cifar_conv", SmallPatterns(), CifarConv()},
      {"gpt2_mini", LetterLessons(6, 2, 16, 1), SmallGpt(16, 0.1, 1)},
      {"reverse", reverser.MakeLessons(6, 2, 1), reverser.MakeTransformer()}};
  for (DType dtype : {DType::kF8E4M3, DType::kF8E5M2}) {
    for (const Case& c : cases) {
      const SupervisedOptions options = {.batch_size = 2, .dtype = dtype};
      const Trained trained = OnTheFastestTier(c.lessons, c.net, options);
      EXPECT_TRUE(std::isfinite(trained.first_loss)) << c.name;
      EXPECT_TRUE(std::isfinite(trained.loss)) << c.name;
    }
  }
}

// A model without a memory of letters would need 2.5 nats.
TEST(NetsTest, Gpt2MiniLearnsTheGrammar) {
  const Trained trained =
      OnTheFastestTier(LetterLessons(1000, 100, 32, 1), SmallGpt(32, 0),
                       {.epochs = 3, .batch_size = 10});
  EXPECT_LT(trained.loss, 0.6);
  EXPECT_GT(trained.loss, NatsOfLetter());
}

TEST(NetsTest, TooFewExamples) {
  EXPECT_EQ(MakeSupervised(DrawnDigits(3, 4, 1), LeNetOf(), {.batch_size = 4})
                .status()
                .message(),
            "the 3 examples to train fill no batch of 4; make the batch "
            "smaller");
}

}  // namespace
}  // namespace ocannl
