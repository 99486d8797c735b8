// SPDX-License-Identifier: Apache-2.0
//
// The losses of shards, merged or not, on every tier. 3 seconds.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using train::DataParallel;
using train::Model;
using train::Reduction;

// Trains the loss of the formula on the examples `x`, at a rate of 0.
absl::StatusOr<DataParallel> TrainOn(const Backend* backend,
                                     const train::DataParallelOptions& options,
                                     const std::vector<float>& x,
                                     const std::string& loss) {
  const auto count = static_cast<int64_t>(x.size());
  return DataParallel::Make(
      backend, options, {{"x", NdArray::Of<float>({count, 1}, x)}},
      [&](Model& model, absl::Span<const Tensor> inputs) {
        Names names = {.tensors = {{"x", inputs[0]}}};
        return MustParseTensor(model.graph, loss, names);
      },
      [](Model& model, Tensor of, const auto&) {
        return train::SgdUpdate(model, of, Number(model.graph, 0), {});
      });
}

// Shard s has the examples 2 s and 2 s + 1 and their mean square as its loss.
absl::StatusOr<DataParallel> Train(const Backend* backend,
                                   const train::DataParallelOptions& options) {
  std::vector<float> x(8);
  for (int k = 0; k < 8; ++k) x[k] = static_cast<float>(k);
  return TrainOn(backend, options, x,
                 "square({w = 1; o=[1]} *. x) ++ \"...|... => 0\" /. 2");
}

TEST(DataParallelLossTest, StayApartWhenTheyAreMerged) {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    for (const bool merge_loss : {false, true}) {
      for (const auto reduction : {Reduction::kSum, Reduction::kMean}) {
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(absl::StrCat(tier, merge_loss, threads));
          auto training = Train(*FindTier(tier), {.n_shards = 4,
                                                  .reduction = reduction,
                                                  .threads = threads,
                                                  .merge_loss = merge_loss});
          ASSERT_THAT(training, IsOk());
          for (int step = 0; step < 2; ++step) {
            CHECK_OK(training->Step());
            EXPECT_THAT(training->MeanLoss(), IsOkAndHolds(17.5));
            EXPECT_THAT(training->ShardLosses(),
                        IsOkAndHolds(ElementsAre(0.5, 6.5, 20.5, 42.5)));
            const double all = reduction == Reduction::kSum ? 70 : 17.5;
            EXPECT_THAT(training->OwnerLossValue(),
                        IsOkAndHolds(merge_loss ? all : 0.5));
          }
        }
      }
    }
  }
}

// Also where one shard has the whole batch, or the others are odd in number.
TEST(DataParallelLossTest, AnyNumberOfShards) {
  for (const int n_shards : {1, 2, 8}) {
    for (const auto reduction : {Reduction::kSum, Reduction::kMean}) {
      auto training = Train(
          *FindTier("interp"),
          {.n_shards = n_shards, .reduction = reduction, .merge_loss = true});
      ASSERT_THAT(training, IsOk());
      EXPECT_FALSE(training->MeanLoss().ok());  // no step yet
      CHECK_OK(training->Step());
      const double all = 70;  // half of the sum of squares
      EXPECT_THAT(training->MeanLoss(), IsOkAndHolds(all / n_shards));
      EXPECT_THAT(
          training->OwnerLossValue(),
          IsOkAndHolds(reduction == Reduction::kSum ? all : all / n_shards));
    }
  }
}

// The loss and the gradient of shard s are x[s], in f16.
absl::StatusOr<DataParallel> TrainNarrow(const Backend* backend,
                                         train::DataParallelOptions options,
                                         const std::vector<float>& x) {
  options.n_shards = static_cast<int64_t>(x.size());
  options.merge_loss = true;
  return TrainOn(backend, options, x,
                 "({w:f16 = 1; o=[1]} *. f16(x)) ++ \"...|... => 0\"");
}

TEST(DataParallelLossTest, SumsOfNarrowFloatsAreRoundedOnce) {
  struct Case {
    std::vector<float> x;
    Reduction reduction;
    double result;
  };
  // f16 holds no more than 65504, multiples of 32 before that, and of 2 above
  // 2048.
  const Case cases[] = {
      {{40000, 40064}, Reduction::kMean, 40032},
      {{40000, 40064}, Reduction::kSum, HUGE_VAL},
      {{60000, 60000, 60000, 60000}, Reduction::kMean, 60000},
      {{40000, 40064, 40000, 40064, 40000}, Reduction::kMean, 40032},
      {{60000, 0, 60000, -60000}, Reduction::kSum, 60000},
      {{2048, 1, 1, 1}, Reduction::kSum, 2052}};
  for (const std::string& tier : AvailableTiers()) {
    for (const auto& [x, reduction, result] : cases) {
      SCOPED_TRACE(absl::StrCat(tier, " ", x.size(), " ", result));
      auto training = TrainNarrow(*FindTier(tier), {.reduction = reduction}, x);
      ASSERT_THAT(training, IsOk());
      for (int step = 0; step < (std::isinf(result) ? 1 : 2); ++step) {
        CHECK_OK(training->Step());
        EXPECT_THAT(training->OwnerLossValue(), IsOkAndHolds(result));
        const auto gradient = training->OwnerContext().Read("w.grad");
        ASSERT_THAT(gradient, IsOk());
        EXPECT_EQ(gradient->dtype(), DType::kF16);
        EXPECT_EQ(gradient->AsDouble(0), result);
      }
    }
  }
}

// The loss makes its inputs; the parameters are in a context of the caller's.
TEST(DataParallelLossTest, OfTheCallersInputsAndParameters) {
  const Backend* backend = *FindTier("interp");
  const Device device("host", backend);
  Stream stream(&device);
  const Context context(&stream);
  CHECK_OK(context.Write("w", NdArray::Of<float>({1}, {0.5})));
  auto training = DataParallel::Make(
      backend, {.n_shards = 2, .owner = &context}, {},
      [](Model& model, absl::Span<const Tensor>) {
        const char* x = model.graph.seed() == 42 ? "1" : "3";
        const std::string loss = absl::StrCat("square({w = 7; o=[1]} - ", x,
                                              ") ++ \"...|... => 0\"");
        return absl::StatusOr<Tensor>(MustParseTensor(model.graph, loss));
      },
      [](Model& model, Tensor of, const auto&) {
        return train::SgdUpdate(model, of, Number(model.graph, 0.25), {});
      });
  CHECK_OK(training);
  CHECK_OK(training->Step());
  EXPECT_THAT(training->MeanLoss(), IsOkAndHolds((0.25 + 6.25) / 2));
  EXPECT_EQ(context.Read("w")->AsDouble(0), 0.5 + 0.25 * 3);
}

}  // namespace
}  // namespace ocannl
