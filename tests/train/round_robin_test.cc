// SPDX-License-Identifier: Apache-2.0
//
// The minibatches of an epoch on several devices: the bits that one device gets
// when it adds up the gradients of each round in the same order.
#include "ocannl/train/parallel/round_robin.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

constexpr int kBatches = 5;
constexpr int kEpochs = 3;

struct Worker : TestDevice {
  using TestDevice::TestDevice;

  Routine Link(const Assignments& code) {
    auto routine = ToRoutine(context, code, {});
    CHECK_OK(routine);
    return *std::move(routine);
  }

  float Value(const std::string& name) const {
    auto array = context.Read(name);
    CHECK_OK(array);
    return array->values<float>()[0];
  }
};

// w x - y, squared, over one of the batches of four; the rate falls with the
// number of batches seen.
class RoundRobinTest : public testing::Test {
 protected:
  RoundRobinTest() {
    Graph& graph = model_.graph;
    Names names;
    names.statics.emplace("k", graph.AddStatic("k", kBatches));
    names.statics.emplace("seen", graph.AddStatic("seen", std::nullopt));
    for (const char* name : {"x", "y"}) {
      std::vector<float> values;
      for (int i = 0; i < 4 * kBatches; ++i) {
        values.push_back(0.1f * static_cast<float>(i * name[0] % 11) - 0.37f);
      }
      ShapeSpec rows;
      rows[RowKind::kOutput] = Dims{1};
      rows[RowKind::kInput] = Dims{};
      names.tensors.emplace(
          name, Data(graph, name, NdArray::Of<float>({4 * kBatches, 1}, values),
                     rows));
    }
    Tensor loss =
        MustParseTensor(graph,
                        "(((x @| k) *. {w = 0.5; o=[1]} - (y @| k)) **. 2) "
                        "++ \"...|... => 0\"",
                        names);
    Tensor rate = MustParseTensor(graph, "0.1 /. (1 + !@seen)", names);
    init_ = *train::InitParams(model_, loss);
    gradient_ = *train::GradUpdate(model_, loss);
    update_ = train::SgdUpdate(model_, loss, rate, {})->update;
    CHECK_OK(Keep(gradient_, "w.grad"));
    CHECK_OK(Keep(update_, "w.grad"));
    parameters_ = train::Parameters(model_, loss);
  }

  // w after the epochs.
  float Train(const Backend* backend, int n_workers) {
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Context> contexts;
    std::vector<Routine> gradients;
    for (int s = 0; s < n_workers; ++s) {
      workers.push_back(std::make_unique<Worker>(backend));
      contexts.push_back(workers.back()->context);
      gradients.push_back(workers.back()->Link(gradient_));
    }
    CHECK_OK(workers[0]->Link(init_).Run());
    Routine update = workers[0]->Link(update_);
    auto replicas =
        train::Replicas::Make(model_, parameters_, parameters_, contexts);
    CHECK_OK(replicas);
    CHECK_OK(replicas->ShareParameters());
    int seen = 0;
    CHECK_OK(update.Set("seen", seen));
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      CHECK_OK(train::ParallelUpdate(
          absl::MakeSpan(gradients), update, *replicas,
          [&](int n) { return update.Set("seen", seen += n); }));
    }
    EXPECT_EQ(seen, kEpochs * kBatches);
    for (const auto& worker : workers) {
      EXPECT_EQ(worker->Value("w"), workers[0]->Value("w"));
    }
    return workers[0]->Value("w");
  }

  // The same on one device, whose gradients the host adds up.
  float TrainAlone(int n_workers) {
    Worker worker(*FindTier("interp"));
    CHECK_OK(worker.Link(init_).Run());
    Routine gradient = worker.Link(gradient_);
    Routine update = worker.Link(update_);
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      for (int first = 0; first < kBatches; first += n_workers) {
        std::vector<float> sums;
        for (int k = first; k < std::min(first + n_workers, kBatches); ++k) {
          CHECK_OK(gradient.Set("k", k));
          CHECK_OK(gradient.Run());
          sums.push_back(worker.Value("w.grad"));
        }
        const int n = static_cast<int>(sums.size());
        for (const auto& [from, to] : train::ParallelMerge(n)) {
          sums[to] += sums[from];
        }
        CHECK_OK(
            worker.context.Write("w.grad", NdArray::Of<float>({1}, {sums[0]})));
        CHECK_OK(update.Set("seen", epoch * kBatches + first));
        CHECK_OK(update.Run());
      }
    }
    return worker.Value("w");
  }

  train::Model model_;
  Assignments init_, gradient_, update_;
  std::vector<Tensor> parameters_;
};

TEST_F(RoundRobinTest, TheSumsOfEachRound) {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (int n_workers : {1, 2, 3, 5, 7}) {
    for (const std::string& tier : tiers) {
      EXPECT_EQ(Train(*FindTier(tier), n_workers), TrainAlone(n_workers))
          << tier << ", " << n_workers;
    }
  }
  EXPECT_NE(TrainAlone(1), TrainAlone(2));
}

TEST_F(RoundRobinTest, ErrorsEndTheLoop) {
  Worker worker(*FindTier("interp"));
  CHECK_OK(worker.Link(init_).Run());
  std::vector<Routine> gradients;
  gradients.push_back(worker.Link(gradient_));
  gradients.push_back(worker.Link(gradient_));
  std::vector<int> synced;
  auto run = [&](int last) {
    return train::RoundRobin(absl::MakeSpan(gradients), [&](int n) {
      synced.push_back(n);
      return static_cast<int>(synced.size()) < last
                 ? absl::OkStatus()
                 : absl::InternalError("stop");
    });
  };
  EXPECT_THAT(run(100), IsOk());
  EXPECT_THAT(synced, testing::ElementsAre(2, 2, 1));
  EXPECT_EQ(gradients[0].runs(), 3);
  EXPECT_THAT(run(4), StatusIs(absl::StatusCode::kInternal, "stop"));
  EXPECT_EQ(gradients[0].runs(), 4);
}

// 2 (w - 2) x^2 is the gradient for x = k + 1.
absl::StatusOr<train::DataParallel> OneModel(
    const Backend* backend, const train::DataParallelOptions& options,
    absl::Span<const train::BatchInput> inputs = {}) {
  return train::DataParallel::Make(
      backend, options, inputs,
      [](train::Model& model, auto) -> absl::StatusOr<Tensor> {
        Names names = {.statics = {{"k", model.graph.AddStatic("k", 4)}}};
        return MustParseTensor(
            model.graph,
            "((({w = 0.5; o=[1]} - 2) *. (!@k + 1)) **. 2) ++ \"...|... => 0\"",
            names);
      },
      [](train::Model& model, Tensor loss, const auto&) {
        return train::SgdUpdate(model, loss, Number(model.graph, 1.0 / 64), {});
      });
}

// The sum for x = 1, 2, 3 is -42. In the next round, which lacks two replicas,
// x = 4 gives -27.
TEST(OneModelTest, ReplicasTakeTurns) {
  for (const std::string& tier : AvailableTiers()) {
    for (int threads : {1, 2}) {
      auto training =
          OneModel(*FindTier(tier), {.policy = train::Policy::kRoundRobin,
                                     .n_shards = 3,
                                     .reduction = train::Reduction::kSum,
                                     .threads = threads});
      ASSERT_THAT(training, IsOk());
      std::vector<int> rounds;
      EXPECT_THAT(training->RunRounds([&](int n) {
        rounds.push_back(n);
        return absl::OkStatus();
      }),
                  IsOk());
      EXPECT_THAT(rounds, testing::ElementsAre(3, 1));
      EXPECT_EQ(training->OwnerContext().Read("w")->AsDouble(0), 1.578125);
      EXPECT_FALSE(training->SetBatch({}).ok());
    }
  }
}

TEST(OneModelTest, WhatTakesNoTurnsIsSaid) {
  const std::vector<train::BatchInput> inputs = {
      {"x", NdArray(DType::kF32, {2})}};
  auto error = [&](const train::DataParallelOptions& options) {
    auto made = OneModel(*FindTier("interp"), options, inputs);
    if (!made.ok()) return std::string(made.status().message());
    return std::string(
        made->RunRounds([](int) { return absl::OkStatus(); }).message());
  };
  EXPECT_EQ(error({}), "RunRounds needs Policy::kRoundRobin; call Step");
  EXPECT_EQ(
      error({.policy = train::Policy::kRoundRobin}),
      "1 inputs of 1 shards; give 1 shard, and make inputs with the loss");
  VirtualDevices devices(*FindTier("interp"), 3);
  EXPECT_EQ(error({.n_shards = 2, .devices = &devices}),
            "there are 3 devices for 2 shards; give as many");
}

}  // namespace
}  // namespace ocannl
