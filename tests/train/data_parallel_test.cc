// SPDX-License-Identifier: Apache-2.0
//
// Training on shards of the batch: what one device computes, where sums are
// exact, and the same bits on every tier, with any number of threads, always.
#include "ocannl/train/parallel/data_parallel.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/params_hash.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/owner_hash.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using train::BatchInput;
using train::DataParallel;
using train::DataParallelOptions;
using train::LossOf;
using train::Model;
using train::Reduction;
using train::SgdOptions;
using train::UpdateOf;

const Backend* Interpreter() { return TestDevice::Interpreter(); }

std::vector<std::string> AllTiers() {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  return tiers;
}

// The loss `text` of the inputs x and y.
LossOf Loss(const std::string& text) {
  return [text](Model& model, absl::Span<const Tensor> inputs) {
    Names names = {.tensors = {{"x", inputs[0]}, {"y", inputs[1]}}};
    return absl::StatusOr<Tensor>(
        Named(MustParseTensor(model.graph, text, names), "loss"));
  };
}

UpdateOf Sgd(double rate, const SgdOptions& options = {}) {
  return [=](Model& model, Tensor loss, const auto&) {
    return train::SgdUpdate(model, loss, Number(model.graph, rate), options);
  };
}

DataParallel Train(const Backend* backend, const DataParallelOptions& options,
                   const std::vector<BatchInput>& batch, const LossOf& loss,
                   const UpdateOf& update) {
  auto made = DataParallel::Make(backend, options, batch, loss, update);
  CHECK_OK(made);
  return *std::move(made);
}

// y = 2 x, from w = 0.5: the gradient is sum(2 (w x - y) x) = -90.
constexpr char kLine[] =
    "((x *. {w = 0.5; o=[1]} - y) **. 2) ++ \"...|... => 0\"";
std::vector<BatchInput> LinePoints() {
  return {{"x", NdArray::Of<float>({4}, {1, 2, 3, 4})},
          {"y", NdArray::Of<float>({4}, {2, 4, 6, 8})}};
}

TEST(DataParallelTest, OneStepAlongALine) {
  for (const std::string& tier : AllTiers()) {
    auto train = [&](int64_t n_shards, Reduction reduction) {
      DataParallel training =
          Train(*FindTier(tier), {.n_shards = n_shards, .reduction = reduction},
                LinePoints(), Loss(kLine), Sgd(0.05));
      EXPECT_EQ(training.n_shards(), n_shards);
      CHECK_OK(training.Step());
      return training;
    };
    auto w = [](const DataParallel& training) {
      EXPECT_EQ(training.OwnerParams().size(), 1);
      return training.ReadValues(training.OwnerParams()[0])->AsDouble(0);
    };
    DataParallel one = train(1, Reduction::kSum);
    DataParallel two = train(2, Reduction::kSum);
    EXPECT_EQ(w(one), 5.0) << tier;
    EXPECT_EQ(w(two), 5.0) << tier;
    EXPECT_THAT(one.OwnerLossValue(), IsOkAndHolds(67.5));
    EXPECT_THAT(two.OwnerLossValue(), IsOkAndHolds(11.25));
    EXPECT_THAT(one.MeanLoss(), IsOkAndHolds(67.5));
    EXPECT_THAT(two.MeanLoss(), IsOkAndHolds(33.75));
    EXPECT_THAT(two.ShardLosses(),
                IsOkAndHolds(testing::ElementsAre(11.25, 56.25)));
    two.SyncParamsToHost();
    EXPECT_EQ(w(train(2, DataParallelOptions().reduction)), 2.75);  // by -45
    EXPECT_EQ(w(train(1, Reduction::kMean)), 5.0);
  }
}

TEST(DataParallelTest, ThePartsOfAStep) {
  DataParallel training = Train(Interpreter(), {.n_shards = 4}, LinePoints(),
                                Loss(kLine), Sgd(0.25));
  auto value = [&](const std::string& name) {
    return training.OwnerContext().Read(name)->AsDouble(0);
  };
  ASSERT_THAT(training.RunGradients(), IsOk());
  EXPECT_EQ(value("w.grad"), -3);
  ASSERT_THAT(training.GradSync(), IsOk());
  EXPECT_EQ(value("w.grad"), -90 / 4.0);
  CHECK_OK(
      training.OwnerContext().Write("w.grad", NdArray::Of<float>({1}, {8})));
  ASSERT_THAT(training.RunUpdate(), IsOk());
  EXPECT_EQ(value("w"), -1.5);
  // What the owner has counts, whoever put it there.
  CHECK_OK(training.OwnerContext().Write("w", NdArray::Of<float>({1}, {2})));
  ASSERT_THAT(training.Step(), IsOk());
  EXPECT_THAT(training.MeanLoss(), IsOkAndHolds(0.0));
  EXPECT_EQ(value("w"), 2);
}

constexpr int kInputs = 3;
constexpr char kHinge[] = R"(
    relu (1 - (y *. ({w2; o=[1]} *
                     relu ({b; o=[6]} + ({w1} * x))))) ++ "...|... => 0")";

// Small whole numbers.
float Whole(int k) { return static_cast<float>((k * 7 + k / 3) % 5 - 2); }

std::vector<BatchInput> Examples(int count, const std::function<float(int)>& f,
                                 int seed = 0) {
  std::vector<float> x;
  std::vector<float> y;
  for (int k = 0; k < count; ++k) {
    for (int i = 0; i < kInputs; ++i) x.push_back(f(seed + k * kInputs + i));
    y.push_back((k * 5 + seed) % 3 == 0 ? 1.f : -1.f);
  }
  return {{"x", NdArray::Of<float>({count, kInputs}, x)},
          {"y", NdArray::Of<float>({count, 1}, y)}};
}

void WriteWhole(const Context& context, const std::string& name, Dims dims) {
  NdArray array(DType::kF32, std::move(dims));
  for (int k = 0; k < array.size(); ++k)
    array.values<float>()[k] = Whole(k + 3);
  CHECK_OK(context.Write(name, array));
}

void WriteParameters(const Context& context) {
  WriteWhole(context, "w1", {6, kInputs});
  WriteWhole(context, "b", {6});
  WriteWhole(context, "w2", {1, 6});
}

// The training of the whole batch, without shards, in one routine.
std::string TrainAlone(const std::vector<BatchInput>& batch, const LossOf& of,
                       const UpdateOf& update, int steps) {
  Model model;
  std::vector<Tensor> inputs;
  for (const BatchInput& input : batch) {
    ShapeSpec rows;
    rows[RowKind::kOutput] = Dims{input.values.dims()[1]};
    rows[RowKind::kInput] = Dims{};
    inputs.push_back(Data(model.graph, input.name, input.values, rows));
  }
  auto loss = of(model, inputs);
  CHECK_OK(loss);
  auto gradient = train::GradUpdate(model, *loss);
  CHECK_OK(gradient);
  auto code = update(model, *loss, std::nullopt);
  CHECK_OK(code);
  const TestDevice host;
  const Context& context = host.context;
  auto step = ToRoutine(context,
                        train::Sequence("step", {*gradient, code->update}), {});
  CHECK_OK(step);
  WriteParameters(context);
  for (int k = 0; k < steps; ++k) CHECK_OK(step->Run());
  return *train::ParamsHash(context, train::Parameters(model, *loss));
}

// With a rate of 2^-4 and whole numbers, each step adds four bits to the
// parameters, so that no sum of the first three rounds.
TEST(DataParallelTest, ExactSumsAreThoseOfOneDevice) {
  const std::vector<BatchInput> batch = Examples(16, Whole);
  const UpdateOf update = Sgd(0x1p-4);
  const std::string alone = TrainAlone(batch, Loss(kHinge), update, 3);
  EXPECT_NE(alone, TrainAlone(batch, Loss(kHinge), update, 2));
  for (const std::string& tier : AllTiers()) {
    for (int64_t n_shards : {1, 2, 4, 8, 16}) {
      DataParallel training = Train(
          *FindTier(tier), {.n_shards = n_shards, .reduction = Reduction::kSum},
          batch, Loss(kHinge), update);
      WriteParameters(training.OwnerContext());
      for (int k = 0; k < 3; ++k) CHECK_OK(training.Step());
      EXPECT_EQ(OwnerHash(training), alone) << tier << ", " << n_shards;
    }
  }
}

float Real(int k) { return 0.1f * static_cast<float>(k * 7 % 11) - 0.37f; }

TEST(DataParallelTest, TheSameBitsOnEveryTierWithAnyThreads) {
  const std::vector<BatchInput> batch = Examples(30, Real);
  const UpdateOf update =
      Sgd(0.05, {.momentum = 0.9, .weight_decay = 1e-3, .nesterov = true});
  std::map<int64_t, std::string> hashes;
  for (const std::string& tier : AllTiers()) {
    for (int64_t n_shards : {1, 2, 3, 5}) {
      for (int threads : {0, 1, 3}) {
        DataParallel training = Train(*FindTier(tier, {.threads = threads}),
                                      {.n_shards = n_shards,
                                       .reduction = Reduction::kMean,
                                       .threads = threads},
                                      batch, Loss(kHinge), update);
        for (int step = 0; step < 40; ++step) CHECK_OK(training.Step());
        const std::string hash = OwnerHash(training);
        EXPECT_EQ(hashes.emplace(n_shards, hash).first->second, hash)
            << tier << ", " << n_shards << " shards, " << threads;
      }
    }
  }
  // Else there would be nothing to get wrong.
  EXPECT_NE(hashes[1], hashes[2]);
  EXPECT_NE(hashes[3], hashes[5]);
}

TEST(DataParallelTest, OtherBatches) {
  auto values = [](int seed) {
    std::vector<NdArray> arrays;
    for (const BatchInput& input : Examples(8, Real, seed)) {
      arrays.push_back(input.values);
    }
    return arrays;
  };
  DataParallel one = Train(Interpreter(), {.n_shards = 2}, Examples(8, Real, 5),
                           Loss(kHinge), Sgd(0.1));
  DataParallel other = Train(Interpreter(), {.n_shards = 2},
                             Examples(8, Real, 0), Loss(kHinge), Sgd(0.1));
  ASSERT_THAT(other.SetBatch(values(5)), IsOk());
  CHECK_OK(one.Step());
  CHECK_OK(other.Step());
  EXPECT_EQ(OwnerHash(one), OwnerHash(other));

  const std::vector<NdArray> few = {NdArray(DType::kF32, {6, kInputs}),
                                    NdArray(DType::kF32, {6, 1})};
  EXPECT_THAT(other.SetBatch(few),
              StatusIs(StatusCode::kInvalidArgument,
                       "input `x`: shards of this batch are f32[3, 3], but the "
                       "training was made for f32[4, 3]"));
  EXPECT_THAT(other.SetBatch({values(0)[0]}),
              StatusIs(StatusCode::kInvalidArgument,
                       "the batch has 1 inputs, but this training has 2"));
  CHECK_OK(one.Step());
  CHECK_OK(other.Step());
  EXPECT_EQ(OwnerHash(one), OwnerHash(other));
}

// Shard s has the examples [8 s, 8 s + 8); batch k of it are four of them.
TEST(DataParallelTest, AStaticIndexSlicesTheShards) {
  const std::vector<BatchInput> all = Examples(16, Real);
  DataParallel sliced = Train(
      Interpreter(), {.n_shards = 2}, all,
      [](Model& model, absl::Span<const Tensor> inputs) {
        const int32_t k = model.graph.AddStatic("k", 2);
        return Loss(kHinge)(model, {Slice(inputs[0], k), Slice(inputs[1], k)});
      },
      Sgd(0.1));
  EXPECT_THAT(sliced.Step(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("`k`")));
  EXPECT_THAT(sliced.Set("k", 2), StatusIs(StatusCode::kOutOfRange));
  EXPECT_THAT(sliced.Set("n", 0), StatusIs(StatusCode::kNotFound));

  auto part = [&](size_t input, int k) {
    const NdArray& whole = all[input].values;
    const auto four = static_cast<int64_t>(whole.size() / 4);
    NdArray array(DType::kF32, {8, whole.dims()[1]});
    for (int64_t i = 0; i < 2 * four; ++i) {
      array.values<float>()[i] =
          whole.values<float>()[i + four * (k + (i < four ? 0 : 1))];
    }
    return array;
  };
  DataParallel given = Train(Interpreter(), {.n_shards = 2}, Examples(8, Real),
                             Loss(kHinge), Sgd(0.1));
  for (int k : {1, 0, 1}) {
    ASSERT_THAT(sliced.Set("k", k), IsOk());
    ASSERT_THAT(sliced.Step(), IsOk());
    ASSERT_THAT(given.SetBatch({part(0, k), part(1, k)}), IsOk());
    ASSERT_THAT(given.Step(), IsOk());
    EXPECT_EQ(OwnerHash(sliced), OwnerHash(given));
  }
}

ShapeSpec OneCell() {
  ShapeSpec spec;
  spec[RowKind::kOutput] = Dims{1};
  spec[RowKind::kInput] = Dims{};
  return spec;
}

TEST(DataParallelTest, EachShardHasASeedOfItsOwn) {
  const LossOf noise = [](Model& model, absl::Span<const Tensor> inputs) {
    Tensor w = Param(model.graph, "w", OneCell(), DType::kF32, DefaultInit);
    return absl::StatusOr<Tensor>(Einsum1(
        "...|... => 0",
        PointMul(Uniform1(model.graph, {.counter = Number(model.graph, 0)}) +
                     PointMul(w, 0),
                 inputs[0])));
  };
  auto train = [&](int64_t n_shards, uint32_t base_seed) {
    DataParallel training = Train(
        Interpreter(), {.n_shards = n_shards, .base_seed = base_seed},
        {{"x",
          NdArray::Of<float>({n_shards, 1}, std::vector<float>(n_shards, 1))}},
        noise, Sgd(0.1));
    CHECK_OK(training.Step());
    return training;
  };
  DataParallel both = train(2, 7);
  const std::vector<uint32_t> seeds = both.ShardSeeds();
  EXPECT_EQ(seeds[0], 7);
  const double first = *train(1, 7).OwnerLossValue();
  const double second = *train(1, seeds[1]).OwnerLossValue();
  EXPECT_NE(first, second);
  EXPECT_THAT(both.OwnerLossValue(), IsOkAndHolds(first));
  EXPECT_THAT(both.MeanLoss(), IsOkAndHolds((first + second) / 2));
  // No shard draws what one of a neighbouring seed does.
  std::set<uint32_t> all;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    for (uint32_t of_shard : train(4, seed).ShardSeeds()) all.insert(of_shard);
  }
  EXPECT_EQ(all.size(), 4 * 8);
}

TEST(DataParallelTest, ParametersOfTheHost) {
  const LossOf line = [](Model& model, absl::Span<const Tensor> inputs) {
    Tensor w = Param(model.graph, "w", OneCell(), DType::kF32, nullptr);
    Tensor off = PointMul(inputs[0], w) - inputs[1];
    return absl::StatusOr<Tensor>(Einsum1("...|... => 0", PointMul(off, off)));
  };
  DataParallel training =
      Train(Interpreter(), {.n_shards = 2}, LinePoints(), line, Sgd(0.1));
  EXPECT_THAT(training.OwnerLossValue(),
              StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(training.Step(), StatusIs(StatusCode::kFailedPrecondition,
                                        HasSubstr("`w` was never written")));
  CHECK_OK(training.OwnerContext().Write("w", NdArray::Of<float>({1}, {0.5})));
  ASSERT_THAT(training.Step(), IsOk());
  EXPECT_EQ(training.OwnerContext().Read("w")->AsDouble(0), 5);
}

TEST(DataParallelTest, WhatIsWrongIsSaid) {
  auto error = [](int64_t n_shards, const std::vector<BatchInput>& batch,
                  const LossOf& loss) {
    auto made = DataParallel::Make(Interpreter(), {.n_shards = n_shards}, batch,
                                   loss, Sgd(0.1));
    EXPECT_FALSE(made.ok());
    return std::string(made.status().message());
  };
  EXPECT_THAT(error(0, {}, Loss(kLine)), HasSubstr("0 shards; give 1 shard"));
  EXPECT_EQ(error(0, LinePoints(), Loss(kLine)),
            "input `x`: n_shards is 0; it must be at least 1");
  EXPECT_EQ(error(3, LinePoints(), Loss(kLine)),
            "input `x`: axis 0 of f32[4] has 4 cells, which 3 does not divide; "
            "leave out 1");
  std::vector<BatchInput> uneven = LinePoints();
  uneven[1].values = NdArray(DType::kF32, {2});
  EXPECT_EQ(error(2, uneven, Loss(kLine)),
            "input `y` has 2 examples, but input `x` has 4; all must have as "
            "many");
  EXPECT_THAT(error(2, LinePoints(), Loss("x ++ \"...|... => 0\"")),
              HasSubstr("` (must_parse_tensor.h:17) has no gradient: no "
                        "parameter reaches it"));
  EXPECT_EQ(error(2, LinePoints(), Loss("x *. {w; o=[1]}")),
            "the loss `loss` has shape 2|1; it must have one cell, as `++ "
            "\"...|... => 0\"` gives it");
  const LossOf uneven_loss = [](Model& model, absl::Span<const Tensor> inputs) {
    const std::string size = absl::StrCat(model.graph.seed() == 42 ? 1 : 2);
    return Loss(absl::StrCat("(x *. {w; o=[", size, "]}) ++ \"...|... => 0\""))(
        model, inputs);
  };
  EXPECT_EQ(error(2, LinePoints(), uneven_loss),
            "the loss on virtual:1 has the parameters w : f32[2], but that on "
            "virtual:0 w : f32[1]; build it alike for all shards");
}

}  // namespace
}  // namespace ocannl
