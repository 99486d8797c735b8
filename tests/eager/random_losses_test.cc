// SPDX-License-Identifier: Apache-2.0
//
// Random losses: op by op on the interpreter, as one routine of an eager and of
// a compiled trainer there, and on the tier `auto`, they have the same bits.
//
//   RANDOM_LOSSES=5000 RANDOM_SEED=9 bazel run
//   //tests/eager:random_losses_test
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/compat/torch_lean_names.h"
#include "ocannl/train/eager/scalar_trainer.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

constexpr int64_t kSide = 4;  // all tensors are matrices of that size

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoll(value, nullptr, 10);
}

// The operation that `choice` stands for.
Ref Apply(Ops& ops, uint32_t choice, Ref a, Ref b) {
  const Dims dims = {kSide, kSide};
  switch (choice % 24) {
    case 0:
      return ops.Add(a, b);
    case 1:
      return ops.Sub(a, b);
    case 2:
      return ops.Mul(a, b);
    case 3:
      return ops.Max(a, b);
    case 4:
      return ops.Min(a, b);
    case 5:
      return ops.Matmul(a, b);
    case 6:
      return ops.Transpose2d(a);
    case 7:
      return ops.Tanh(a);
    case 8:
      return ops.Sigmoid(a);
    case 9:
      return ops.Relu(a);
    case 10:
      return ops.Softmax(a);
    case 11:
      return ops.LogSoftmax(a);
    case 12:
      return ops.Scale(a, 0.75);
    case 13:
      return ops.Shift(a, -0.25);
    case 14:
      return ops.Clamp(a, -0.5, 0.5);
    case 15:
      return ops.BroadcastTo(ops.ReduceMean(a, 0), dims);
    case 16:
      return ops.BroadcastTo(ops.ReduceSum(a, 1), dims);
    case 17:
      return ops.Reshape(ops.Flatten(a), dims);
    case 18:
      return ops.ConcatLeadingAxis({ops.SliceLeadingAxisRange(a, 1, 3),
                                    ops.SliceLeadingAxisRange(b, 0, 1)});
    case 19:
      return ops.LayerNorm(a, GatherRow(ops, b, 0), GatherRow(ops, b, 1));
    case 20:
      return ops.Mul(a, ops.BernoulliMask(ops.Const(0.5), dims));
    case 21:
      return ops.Detach(a);
    case 22:
      return ops.Reshape(
          ops.MaxPool2d(ops.Reshape(a, {1, kSide, kSide}), 3, 1, 1), dims);
    default:
      return ops.Linear(a, GatherRow(ops, b, 2), b);
  }
}

// What `choices` make of two parameters: three numbers an operation.
Loss LossOf(const std::vector<uint32_t>& choices) {
  return [&choices](Ops& ops, absl::Span<const Ref> args) {
    std::vector<Ref> made(args.begin(), args.end());
    for (size_t k = 0; k + 2 < choices.size(); k += 3) {
      made.push_back(Apply(ops, choices[k], made[choices[k + 1] % made.size()],
                           made[choices[k + 2] % made.size()]));
    }
    return ops.MseLoss(made.back(), made[made.size() / 2]);
  };
}

ParamList Params(std::mt19937& random) {
  std::vector<NdArray> values;
  for (int k = 0; k < 2; ++k) {
    NdArray value(DType::kF32, {kSide, kSide});
    for (float& cell : value.values<float>()) {
      cell = static_cast<float>(random() % 2001) / 1000 - 1;
    }
    values.push_back(std::move(value));
  }
  return *ParamList::Allocate(std::move(values));
}

// The loss, its gradients, and the parameters after two steps.
std::vector<NdArray> Trained(const Backend* backend, const ParamList& params,
                             const Loss& loss, TrainerMode mode) {
  ScalarTrainer trainer(backend, *ParamList::Allocate(*params.Get()), loss,
                        {.mode = mode});
  auto both = trainer.ValueAndGrad({});
  CHECK_OK(both.status());
  std::vector<NdArray> all = std::move(both->gradients);
  all.push_back(NdArray::Of<double>({}, {both->loss}));
  for (int k = 0; k < 2; ++k) {
    const absl::Status step = trainer.Step(0.125, {});
    if (!step.ok()) continue;  // no parameter reaches the loss
    const auto values = trainer.GetParams();
    CHECK_OK(values.status());
    all.insert(all.end(), values->begin(), values->end());
  }
  return all;
}

TEST(RandomLossesTest, TheSameBitsInEveryModeAndTier) {
  const auto seed =
      static_cast<uint32_t>(FromEnvironment("RANDOM_SEED", 20261123));
  const int64_t count = FromEnvironment("RANDOM_LOSSES", 50);
  std::cout << "RANDOM_SEED=" << seed << " RANDOM_LOSSES=" << count << "\n";
  const Backend* const interp = TestDevice::Interpreter();
  const Backend* const native = *FindTier("auto");
  for (int64_t k = 0; k < count; ++k) {
    std::mt19937 random(seed + static_cast<uint32_t>(k));
    const ParamList params = Params(random);
    std::vector<uint32_t> choices(3 * (1 + random() % 12));
    for (uint32_t& choice : choices) choice = random();
    const Loss loss = LossOf(choices);
    Session session(interp, {});
    session.Begin();
    const ParamList own = *ParamList::Allocate(*params.Get());
    CHECK_OK(session.Use(own, {}));
    const auto by_op = session.Value(loss(session, session.args()));
    CHECK_OK(by_op.status());
    std::optional<std::vector<NdArray>> expected;
    for (const Backend* backend : {interp, native}) {
      for (TrainerMode mode : {TrainerMode::kEager, TrainerMode::kCompiled}) {
        const std::vector<NdArray> now = Trained(backend, params, loss, mode);
        if (!expected) expected = now;
        ASSERT_EQ(now.size(), expected->size());
        for (size_t i = 0; i < now.size(); ++i) {
          ASSERT_TRUE(SameBits(now[i], (*expected)[i]))
              << "loss " << k << ", array " << i << "\n"
              << session.TapeText();
        }
      }
    }
    const double whole = (*expected)[2].AsDouble(0);
    const double apart = by_op->AsDouble(0);
    ASSERT_TRUE(whole == apart || (whole != whole && apart != apart))
        << "loss " << k << "\n"
        << session.TapeText();
  }
}

}  // namespace
}  // namespace ocannl::train
