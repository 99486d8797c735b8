// SPDX-License-Identifier: Apache-2.0
//
// Shards whose losses have one scale (train/optim/loss_scale.h).
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "tests/support/owner_hash.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using train::DataParallel;

// Least squares on six points, a third of them for each shard, as in a network
// that computes in `dtype`.
absl::StatusOr<DataParallel> Make(DType dtype, int threads,
                                  const train::UpdateOf& update) {
  auto loss_of = [](train::Model& model, absl::Span<const Tensor> inputs) {
    auto parsed =
        ParseTensor(model.graph,
                    "((x *. {w = 0.3; o=[1]} + {b = 0.1; o=[1]} - y) **. 2) ++ "
                    "\"...|... => 0\"",
                    {.tensors = {{"x", inputs[0]}, {"y", inputs[1]}}});
    CHECK_OK(parsed);
    return absl::StatusOr<Tensor>(Named(parsed->tensor, "loss"));
  };
  return DataParallel::Make(
      TestDevice::Interpreter(),
      {.n_shards = 3,
       .reduction = train::Reduction::kMean,
       .threads = threads,
       .dtype = dtype},
      {{"x", NdArray::Of<float>({6}, {1, 2, 0.7f, -1, 0.2f, 3})},
       {"y", NdArray::Of<float>({6}, {2, 4, 1.9f, 0, 0.1f, 5})}},
      loss_of, update);
}

DataParallel Train(DType dtype, int threads) {
  auto update = [](train::Model& model, Tensor loss,
                   const std::optional<train::LossScale>& scale) {
    return train::ScaledRuleUpdate(model, train::Parameters(model, loss),
                                   Number(model.graph, 0.05),
                                   train::Sgd({.momentum = 0.9}), scale);
  };
  auto made = Make(dtype, threads, update);
  CHECK_OK(made);
  return *std::move(made);
}

double Scale(const DataParallel& training) {
  auto value = training.OwnerContext().Read("loss_scale");
  CHECK_OK(value);
  return value->AsDouble(0);
}

void SetScale(const DataParallel& training, float scale) {
  CHECK_OK(training.OwnerContext().Write("loss_scale",
                                         NdArray::Of<float>({}, {scale})));
}

// It is a power of two: where nothing overflows it changes no bit.
TEST(DataParallelScaleTest, TheBitsOfALossWithoutScale) {
  std::vector<std::string> hashes;
  DataParallel plain = Train(DType::kF32, 1);
  for (int step = 0; step < 5; ++step) {
    CHECK_OK(plain.Step());
    hashes.push_back(OwnerHash(plain));
  }
  EXPECT_NE(hashes[3], hashes[4]);
  for (int threads : {1, 3}) {
    DataParallel scaled = Train(DType::kF16, threads);
    EXPECT_EQ(Scale(scaled), 65536);
    for (const std::string& hash : hashes) {
      CHECK_OK(scaled.Step());
      EXPECT_EQ(OwnerHash(scaled), hash) << threads;
    }
    EXPECT_EQ(Scale(scaled), 65536);
  }
}

// A step in which gradients overflow changes no parameter, and the next one has
// half the scale on all shards.
TEST(DataParallelScaleTest, HalvesOnAllShards) {
  DataParallel plain = Train(DType::kF32, 1);
  DataParallel scaled = Train(DType::kF16, 1);
  CHECK_OK(plain.Step());
  CHECK_OK(scaled.Step());
  SetScale(scaled, 0x1p127f);
  CHECK_OK(scaled.Step());
  EXPECT_EQ(OwnerHash(scaled), OwnerHash(plain));
  EXPECT_EQ(Scale(scaled), 0x1p126);
  SetScale(scaled, 256);
  CHECK_OK(plain.Step());
  CHECK_OK(scaled.Step());
  EXPECT_EQ(OwnerHash(scaled), OwnerHash(plain));
}

TEST(DataParallelScaleTest, AnUpdateWithoutScale) {
  auto update = [](train::Model& model, Tensor loss) {
    return train::RuleUpdate(model, loss, Number(model.graph, 0.05),
                             train::Sgd({.momentum = 0.9}));
  };
  auto plain = Make(DType::kF32, 1, update);
  CHECK_OK(plain);
  CHECK_OK(plain->Step());
  DataParallel same = Train(DType::kF32, 1);
  CHECK_OK(same.Step());
  EXPECT_EQ(OwnerHash(*plain), OwnerHash(same));
  EXPECT_THAT(
      Make(DType::kF16, 1, update),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("`const std::optional<LossScale>& scale`")));
}

}  // namespace
}  // namespace ocannl
