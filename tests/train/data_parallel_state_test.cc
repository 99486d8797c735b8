// SPDX-License-Identifier: Apache-2.0
//
// Training on shards of the batch: the states beside the parameters, which are
// the owner's, and files from which a training goes on.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/owner_hash.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using train::DataParallel;
using train::LossOf;
using train::Model;

// With y = 2 x, from w = 0.5.
DataParallel AlongALine() {
  const LossOf loss = [](Model& model, absl::Span<const Tensor> inputs) {
    Names names = {.tensors = {{"x", inputs[0]}, {"y", inputs[1]}}};
    return absl::StatusOr<Tensor>(MustParseTensor(
        model.graph, "((x *. {w = 0.5; o=[1]} - y) **. 2) ++ \"...|... => 0\"",
        names));
  };
  auto update = [](Model& model, Tensor of, const auto&) {
    return train::SgdUpdate(model, of, Number(model.graph, 0.01),
                            {.momentum = 0.9});
  };
  auto made =
      DataParallel::Make(TestDevice::Interpreter(),
                         {.n_shards = 2, .reduction = train::Reduction::kMean},
                         {{"x", NdArray::Of<float>({4}, {1, 2, 3, 4})},
                          {"y", NdArray::Of<float>({4}, {2, 4, 6, 8})}},
                         loss, update);
  CHECK_OK(made);
  return *std::move(made);
}

TEST(DataParallelStateTest, GoesOnFromAFile) {
  const std::string path = testing::TempDir() + "/data_parallel.npz";
  DataParallel whole = AlongALine();
  for (int k = 0; k < 3; ++k) CHECK_OK(whole.Step());
  const auto state = train::StateArrays(whole.OwnerPrograms());
  EXPECT_EQ(state.size(), 2);  // w and its momentum
  CHECK_OK(train::SaveParams(path, state, whole.OwnerContext()));
  for (int k = 0; k < 3; ++k) CHECK_OK(whole.Step());
  DataParallel resumed = AlongALine();
  CHECK_OK(train::RestoreParams(path, state, resumed.OwnerContext()));
  for (int k = 0; k < 3; ++k) CHECK_OK(resumed.Step());
  EXPECT_EQ(OwnerHash(resumed), OwnerHash(whole));
}

// A factor that no gradient reaches is in the file, too.
TEST(DataParallelStateTest, AFrozenPartIsKept) {
  auto make = [](float factor) {
    auto loss = [](Model& model, absl::Span<const Tensor> inputs) {
      Names names = {.tensors = {{"x", inputs[0]}}};
      return absl::StatusOr<Tensor>(MustParseTensor(
          model.graph,
          "square(x *. {w = 0.5; o=[1]} *. stop_gradient({k; o=[1]}) - 1)"
          " ++ \"...|... => 0\"",
          names));
    };
    auto update = [](Model& model, Tensor of, const auto&) {
      return train::SgdUpdate(model, of, Number(model.graph, 0.01), {});
    };
    auto made = DataParallel::Make(
        TestDevice::Interpreter(), {.n_shards = 2},
        {{"x", NdArray::Of<float>({4}, {1, 2, 3, 4})}}, loss, update);
    CHECK_OK(made);
    CHECK_OK(
        made->OwnerContext().Write("k", NdArray::Of<float>({1}, {factor})));
    return *std::move(made);
  };
  const std::string path = testing::TempDir() + "/frozen.npz";
  DataParallel whole = make(0.25);
  for (int k = 0; k < 3; ++k) CHECK_OK(whole.Step());
  const auto state = whole.OwnerState();
  ASSERT_THAT(state, IsOk());
  EXPECT_EQ(state->size(), 2);  // k and w
  CHECK_OK(train::SaveParams(path, *state, whole.OwnerContext()));
  DataParallel resumed = make(8);
  CHECK_OK(train::RestoreParams(path, *state, resumed.OwnerContext()));
  for (int k = 0; k < 3; ++k) {
    CHECK_OK(whole.Step());
    CHECK_OK(resumed.Step());
  }
  EXPECT_EQ(OwnerHash(resumed), OwnerHash(whole));
}

// The running mean of x is that of the owner's shard.
TEST(DataParallelStateTest, RunningMeans) {
  std::vector<train::Training> trainings;  // of all shards
  const LossOf normed = [&](Model& model, absl::Span<const Tensor> inputs) {
    trainings.push_back({.step = model.graph.AddStatic("step", std::nullopt)});
    train::BatchNorm norm({&model.graph, "norm"}, {.momentum = 0.5});
    return absl::StatusOr<Tensor>(
        Einsum1("...|... => 0", norm(inputs[0], &trainings.back())));
  };
  auto update = [&](Model& model, Tensor loss,
                    const auto&) -> absl::StatusOr<train::UpdateCode> {
    auto sgd = train::SgdUpdate(model, loss, Number(model.graph, 0.1), {});
    if (!sgd.ok()) return sgd;
    auto states = train::UpdateStates(model, trainings[0].updates);
    if (!states.ok()) return states;
    return train::UpdateCode{
        .init = train::Sequence("init", {sgd->init, states->init}),
        .update = train::Sequence("update", {states->update, sgd->update})};
  };
  auto training = DataParallel::Make(
      TestDevice::Interpreter(), {.n_shards = 2},
      {{"x", NdArray::Of<float>({4, 1}, {1, 3, 5, 9})}}, normed, update);
  CHECK_OK(training);
  for (double mean : {1.0, 1.5}) {
    ASSERT_THAT(training->Step(), IsOk());
    auto running = training->OwnerContext().Read("norm_running_mean");
    ASSERT_THAT(running, IsOk());
    EXPECT_EQ(running->AsDouble(0), mean);
  }
}

}  // namespace
}  // namespace ocannl
