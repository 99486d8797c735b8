// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/buckets.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;

// w1 of 36 floats, b of 6, w2 of 12, c of 2, in the order of Parameters.
constexpr char kNet[] = R"(
    ({w2} * tanh ({b; o=[6]} + ({w1} * x)) + {c; o=[2]}) ++ "...|... => 0")";

class BucketsTest : public testing::Test {
 protected:
  // The code of the gradients, of which `trained` are kept.
  Assignments Gradient(const std::string& text = kNet) {
    std::vector<float> values(5 * 6);
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] = 0.3f * static_cast<float>(k * 7 % 11) - 1;
    }
    Names names;
    names.tensors = {
        {"x", Data(model_.graph, "x", NdArray::Of<float>({5, 6}, values),
                   {.rows = {Dims{5}, Dims{6}, Dims{}}})}};
    auto parsed = ParseTensor(model_.graph, text, names);
    CHECK_OK(parsed);
    loss_ = Named(parsed->tensor, "loss");
    auto code = GradUpdate(model_, loss_);
    CHECK_OK(code);
    auto trained = KeepGradients(Parameters(model_, loss_), *code);
    CHECK_OK(trained);
    trained_ = *trained;
    return *code;
  }

  // The names of the gradients of each part.
  std::vector<std::string> Buckets(const std::vector<GradientPart>& parts) {
    std::vector<std::string> buckets;
    for (const GradientPart& part : parts) {
      std::string& names = buckets.emplace_back();
      for (int k : part.bucket) names += trained_[k].node().name + " ";
    }
    return buckets;
  }

  // All arrays that the parts leave.
  std::vector<NdArray> Values(const std::vector<GradientPart>& parts) {
    const TestDevice host;
    const Context& context = host.context;
    auto init = InitParams(model_, loss_);
    CHECK_OK(init);
    auto start = ToRoutine(context, *init, {});
    CHECK_OK(start);
    CHECK_OK(start->Run());
    std::vector<Routine> routines;
    for (const GradientPart& part : parts) {
      auto routine = ToRoutine(
          routines.empty() ? start->context() : routines.back().context(),
          part.code, {});
      CHECK_OK(routine);
      routines.push_back(*std::move(routine));
    }
    for (int k = 0; k < 2; ++k) {  // nothing is left from the first time
      for (Routine& routine : routines) CHECK_OK(routine.Run());
    }
    std::vector<NdArray> values;
    for (Tensor p : trained_) {
      values.push_back(*context.Read(p.node().name + ".grad"));
    }
    values.push_back(*context.Read("loss"));
    return values;
  }

  Model model_;
  Tensor loss_{};
  std::vector<Tensor> trained_;
};

TEST_F(BucketsTest, PartsHaveTheBitsOfTheWhole) {
  const Assignments code = Gradient();
  const auto whole = CutAtBuckets(code, trained_, 0);
  ASSERT_EQ(whole.size(), 1);
  EXPECT_EQ(whole[0].code.name, code.name);
  const std::vector<NdArray> values = Values(whole);
  EXPECT_NE(values[0].AsDouble(0), 0);
  for (int64_t bytes : {1, 50, 150, 10'000}) {
    const std::vector<NdArray> parts =
        Values(CutAtBuckets(code, trained_, bytes));
    for (size_t k = 0; k < values.size(); ++k) {
      EXPECT_TRUE(SameBits(parts[k], values[k])) << bytes << ", " << k;
    }
  }
}

TEST_F(BucketsTest, EndWithTheGradientsThatFillThem) {
  const Assignments code = Gradient();
  EXPECT_THAT(Buckets(CutAtBuckets(code, trained_, 1)),
              ElementsAre("c ", "w2 ", "b ", "w1 "));
  EXPECT_THAT(Buckets(CutAtBuckets(code, trained_, 50)),
              ElementsAre("c w2 ", "b w1 "));
  EXPECT_THAT(Buckets(CutAtBuckets(code, trained_, 10'000)),
              ElementsAre("c w2 b w1 "));
}

TEST_F(BucketsTest, NarrowSumsAreNotCut) {
  const Assignments code = Gradient(
      R"(({w2; o=[1]} * f32 (bf16 ({w1; o=[6]} * x))) ++ "...|... => 0")");
  EXPECT_EQ(CutAtBuckets(code, trained_, 1).size(), 1);
}

}  // namespace
}  // namespace ocannl::train
