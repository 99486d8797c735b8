// SPDX-License-Identifier: Apache-2.0
//
// Training on several ranks: the bits of one process with as many shards.
//
//   RANK_SCHEDULES=1000 bazel run //tests/distributed:ranks_test
//
// tries that many seeds of random delays.
#include "tests/support/ranks.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/graph/params_hash.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "ocannl/train/parallel/example_train_loop.h"
#include "ocannl/train/parallel/replicas.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using absl::StatusCode;
using testing::Each;
using testing::HasSubstr;
using train::Communicator;
using train::DataParallel;
using train::DataParallelOptions;
using train::Model;
using train::Reduction;

constexpr int kExamples = 24;
constexpr int kInputs = 3;

constexpr char kHinge[] = R"(
    relu (1 - (y *. ({w3; o=[1]} * relu ({b2; o=[5]} + ({w2} *
                     relu ({b; o=[6]} + ({w1} * x))))))) ++ "...|... => 0")";

absl::StatusOr<Tensor> HingeLoss(Model& model,
                                 absl::Span<const Tensor> inputs) {
  Names names;
  names.tensors = {{"x", inputs[0]}, {"y", inputs[1]}};
  OCANNL_ASSIGN_OR_RETURN(auto parsed, ParseTensor(model.graph, kHinge, names));
  return Named(parsed.tensor, "loss");
}

absl::StatusOr<train::UpdateCode> Sgd(Model& model, Tensor loss,
                                      const std::optional<train::LossScale>&) {
  return train::SgdUpdate(model, loss, Number(model.graph, 0.05),
                          {.momentum = 0.9, .weight_decay = 1e-3});
}

std::vector<train::BatchInput> Examples() {
  std::vector<float> x;
  std::vector<float> y;
  for (int k = 0; k < kExamples; ++k) {
    for (int i = 0; i < kInputs; ++i) {
      x.push_back(0.1f * static_cast<float>((k * 3 + i) * 7 % 11) - 0.37f);
    }
    y.push_back(k * 5 % 3 == 0 ? 1.f : -1.f);
  }
  return {{"x", NdArray::Of<float>({kExamples, kInputs}, x)},
          {"y", NdArray::Of<float>({kExamples, 1}, y)}};
}

// The hash of what training leaves, and its losses; behind them those of the
// owner alone, which it has all of.
absl::StatusOr<std::string> Train(const Backend* backend,
                                  const DataParallelOptions& options,
                                  int steps = 6) {
  OCANNL_ASSIGN_OR_RETURN(
      DataParallel training,
      DataParallel::Make(backend, options, Examples(), HingeLoss, Sgd));
  std::string losses, merged;
  for (int k = 0; k < steps; ++k) {
    OCANNL_RETURN_IF_ERROR(training.Step());
    OCANNL_ASSIGN_OR_RETURN(const double mean, training.MeanLoss());
    if (options.merge_loss && training.has_owner()) {
      OCANNL_ASSIGN_OR_RETURN(const double loss, training.OwnerLossValue());
      absl::StrAppend(&merged, " ", loss);
      const bool is_mean = options.reduction == Reduction::kMean;
      const double all = mean * static_cast<double>(options.n_shards);
      EXPECT_NEAR(loss, is_mean ? mean : all, 1e-6 * all);
    }
    OCANNL_ASSIGN_OR_RETURN(const auto each, training.ShardLosses());
    EXPECT_EQ(each.size(), options.n_shards);
    absl::StrAppend(&losses, " ", mean, " ", each.back());
  }
  OCANNL_RETURN_IF_ERROR(training.SyncRanks());
  OCANNL_ASSIGN_OR_RETURN(
      const std::string hash,
      train::ParamsHash(training.OwnerContext(), training.OwnerParams()));
  return absl::StrCat(hash, losses, merged);
}

const Backend* Tier(const std::string& name) { return *FindTier(name); }

// The same on so many ranks; checks that all have the same.
std::string OnSomeRanks(const Backend* backend, DataParallelOptions options,
                        int ranks, const Delays& delays = {}) {
  std::vector<std::string> found(ranks);
  auto work = [&](Communicator& rank) -> absl::Status {
    DataParallelOptions own = options;
    own.communicator = &rank;
    OCANNL_ASSIGN_OR_RETURN(found[rank.rank()], Train(backend, own));
    return absl::OkStatus();
  };
  EXPECT_THAT(OnRanks(ranks, work, delays), Each(IsOk()));
  for (const std::string& other : found) {
    EXPECT_EQ(other, found[0].substr(0, other.size()));
  }
  return found[0];
}

TEST(Ranks, TheBitsOfOneProcess) {
  std::string last;
  for (int64_t n_shards : {1, 2, 3, 4, 6, 8, 12}) {
    for (const auto reduction : {Reduction::kSum, Reduction::kMean}) {
      const DataParallelOptions options = {
          .n_shards = n_shards, .reduction = reduction, .threads = 1};
      auto alone = Train(Tier("interp"), options);
      ASSERT_THAT(alone, IsOk());
      if (reduction == Reduction::kMean) {
        EXPECT_NE(*alone, last);  // else there would be nothing to get wrong
        last = *alone;
      }
      for (int ranks : {1, 2, 3, 4}) {
        if (ranks > n_shards) continue;
        EXPECT_EQ(OnSomeRanks(Tier("interp"), options, ranks), *alone)
            << ranks << " ranks, " << n_shards << " shards";
      }
    }
  }
}

TEST(Ranks, OnEveryTierWithThreads) {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  const DataParallelOptions options = {.n_shards = 8, .threads = 2};
  auto alone = Train(Tier("interp"), options);
  ASSERT_THAT(alone, IsOk());
  for (const std::string& tier : tiers) {
    EXPECT_EQ(OnSomeRanks(Tier(tier), options, 2), *alone) << tier;
  }
}

TEST(Ranks, TheOwnerHasTheLossOfAll) {
  for (const auto reduction : {Reduction::kSum, Reduction::kMean}) {
    DataParallelOptions options = {.n_shards = 6, .reduction = reduction};
    const auto apart = Train(Tier("interp"), options);
    ASSERT_THAT(apart, IsOk());
    options.merge_loss = true;
    const auto alone = Train(Tier("interp"), options);
    ASSERT_THAT(alone, IsOk());
    EXPECT_EQ(alone->substr(0, apart->size()), *apart);
    EXPECT_GT(alone->size(), apart->size());
    for (int ranks : {2, 4}) {
      EXPECT_EQ(OnSomeRanks(Tier("interp"), options, ranks), *alone);
    }
  }
}

// What ExampleTrainLoop leaves on `devices` of all ranks; null: of this
// process.
absl::StatusOr<std::string> TrainExamples(int devices, Communicator* ranks) {
  auto rows = [](const std::string& name, int64_t size) {
    return [=](Graph& graph, const Dims& batch) {
      NdArray values(DType::kF32, {batch[0], batch[1], size});
      for (int64_t k = 0; k < values.size(); ++k) {
        values.values<float>()[k] = static_cast<float>(k * 7 % 11 - 5) * 0.3f;
      }
      return Data(graph, name, std::move(values),
                  {.rows = {batch, Dims{size}, Dims{}}});
    };
  };
  VirtualDevices here(Tier("interp"), train::ReplicasHere(devices, ranks), 1);
  // The last round of an epoch has not all devices.
  OCANNL_ASSIGN_OR_RETURN(
      auto trained, train::ExampleTrainLoop(
                        here,
                        {.batch_size = 12,
                         .data_len = 90,
                         .epochs = 3,
                         .communicator = ranks},
                        rows("x", 2), rows("y", 1),
                        [](Graph& graph) -> train::Net {
                          return train::Mlp({&graph, ""}, {.sizes = {4, 1}});
                        },
                        [](Tensor output, Tensor expectation) {
                          return Relu(1 - Mul(expectation, output));
                        }));
  OCANNL_ASSIGN_OR_RETURN(
      const std::string hash,
      train::ParamsHash(here[0].context,
                        train::Parameters(trained->model, trained->loss)));
  return absl::StrCat(hash, " ", absl::StrJoin(trained->batch_losses, " "), " ",
                      absl::StrJoin(trained->learning_rates, " "));
}

TEST(Ranks, DevicesThatTakeTurns) {
  for (int devices : {2, 3, 4, 6}) {
    auto alone = TrainExamples(devices, nullptr);
    ASSERT_THAT(alone, IsOk());
    for (int ranks = 1; ranks <= std::min(4, devices); ++ranks) {
      auto work = [&](Communicator& rank) -> absl::Status {
        OCANNL_ASSIGN_OR_RETURN(const std::string found,
                                TrainExamples(devices, &rank));
        EXPECT_EQ(found, *alone) << devices << " devices, " << ranks;
        return absl::OkStatus();
      };
      EXPECT_THAT(OnRanks(ranks, work), Each(IsOk()));
    }
  }
  const auto uneven = OnRanks(2, [](Communicator& rank) {
    return train::CountReplicas(rank.rank() + 1, &rank).status();
  });
  EXPECT_THAT(uneven, Each(StatusIs(StatusCode::kInvalidArgument,
                                    HasSubstr("the ranks have 1, 2 devices"))));
}

TEST(Ranks, MergesWhileItComputes) {
  for (const std::string tier : {"interp", "auto"}) {
    for (const bool merge_loss : {false, true}) {
      DataParallelOptions options = {.n_shards = 6,
                                     .reduction = Reduction::kMean,
                                     .threads = 2,
                                     .merge_loss = merge_loss};
      auto alone = Train(Tier(tier), options);
      ASSERT_THAT(alone, IsOk());
      // A bucket for each gradient, a few, and one for all.
      for (const auto& [bytes, ranks] :
           {std::pair{1, 3}, {100, 2}, {100, 4}, {1 << 20, 3}}) {
        options.bucket_bytes = bytes;
        EXPECT_EQ(OnSomeRanks(Tier(tier), options, ranks), *alone)
            << bytes << " bytes, " << ranks << " ranks";
      }
    }
  }
}

TEST(Ranks, DelaysChangeNothing) {
  DataParallelOptions options = {.n_shards = 6, .threads = 1};
  auto alone = Train(Tier("interp"), options);
  ASSERT_THAT(alone, IsOk());
  const char* schedules = std::getenv("RANK_SCHEDULES");
  const uint64_t seeds = schedules == nullptr ? 10 : std::stoul(schedules);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    options.bucket_bytes = seed % 2 == 0 ? 100 : 0;
    EXPECT_EQ(OnSomeRanks(Tier("interp"), options, 3,
                          {.seed = seed, .most_microseconds = 300}),
              *alone)
        << seed;
  }
}

TEST(Ranks, WhatIsWrongIsSaid) {
  auto each = [](auto change) {
    return OnRanks(3, [&](Communicator& rank) -> absl::Status {
      DataParallelOptions options = {.n_shards = 3, .communicator = &rank};
      change(options, rank.rank());
      return Train(Tier("interp"), options).status();
    });
  };
  EXPECT_THAT(each([](auto& options, int) { options.n_shards = 2; }),
              Each(StatusIs(StatusCode::kInvalidArgument,
                            "2 shards are not enough for 3 ranks; make one for "
                            "each at least")));
  EXPECT_THAT(
      each([](auto& options, int rank) {
        options.n_shards = rank == 1 ? 4 : 3;
      }),
      Each(StatusIs(StatusCode::kFailedPrecondition,
                    HasSubstr("rank 1 has other shards, seed, inputs or "
                              "parameters than rank 0"))));
}

// All wait for rank 1, which stops in the middle.
TEST(Ranks, OneThatEndsIsAnErrorOfAllOthers) {
  auto work = [](Communicator& rank) -> absl::Status {
    const DataParallelOptions options = {.n_shards = 4, .communicator = &rank};
    OCANNL_ASSIGN_OR_RETURN(
        auto training, DataParallel::Make(Tier("interp"), options, Examples(),
                                          HingeLoss, Sgd));
    for (int step = 0; step < 5; ++step) {
      if (step == 3 && rank.rank() == 1) {
        rank.Abort("no disk");
        return absl::UnknownError("no disk");
      }
      OCANNL_RETURN_IF_ERROR(training.Step());
    }
    return absl::OkStatus();
  };
  const auto results = OnRanks(4, work);
  for (int rank : {0, 2, 3}) {
    EXPECT_THAT(results[rank],
                StatusIs(StatusCode::kAborted, "rank 1 ended: no disk"));
  }
}

}  // namespace
}  // namespace ocannl
