// SPDX-License-Identifier: Apache-2.0
//
// Each operation of Ops: its value by a formula of plain numbers, its gradients
// by differences, and the same bits op by op and as one routine.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/train/eager/scalar_trainer.h"
#include "tests/eager/primitive_cases.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;

// Small numbers of both signs, no two alike, none near 0.
Numbers Spread(int64_t size, double first) {
  Numbers numbers(size);
  for (int64_t i = 0; i < size; ++i) {
    const double x = std::fmod(first + 0.37 * static_cast<double>(i), 2) - 1;
    numbers[i] = x + (x < 0 ? -0.05 : 0.05);
  }
  return numbers;
}

class PrimitiveTest : public testing::TestWithParam<Case> {
 protected:
  PrimitiveTest() {
    for (const Dims& shape : GetParam().shapes) {
      args_.push_back(Spread(NumElements(shape),
                             0.1 + 0.53 * static_cast<double>(args_.size())));
    }
  }

  std::vector<NdArray> Values(const Args& args) const {
    std::vector<NdArray> values;
    for (size_t k = 0; k < args.size(); ++k) {
      values.push_back(NdArray::Of<double>(GetParam().shapes[k], args[k]));
    }
    return values;
  }

  ParamList Params() const {
    auto params = ParamList::Allocate(Values(args_));
    CHECK_OK(params.status());
    return std::move(*params);
  }

  Args args_;
};

TEST_P(PrimitiveTest, Value) {
  ParamList params = Params();
  Session session(TestDevice::Interpreter(), {});
  session.Begin();
  ASSERT_THAT(session.Use(params, {}), IsOk());
  const Ref y = GetParam().op(session, session.args());
  ASSERT_THAT(session.status(), IsOk());
  auto value = session.Value(y);
  ASSERT_THAT(value, IsOk());
  const Numbers expected = GetParam().value(args_);
  const auto cells = value->values<double>();
  ASSERT_EQ(cells.size(), expected.size());
  EXPECT_THAT(Numbers(cells.begin(), cells.end()),
              testing::Pointwise(testing::DoubleNear(1e-12), expected));
  EXPECT_EQ(NumElements(session.dims(y)), value->size());
}

// Cells of the result weigh differently, as their sum would hide much.
Loss WeightedSum(const Case& test) {
  return [&test](Ops& ops, absl::Span<const Ref> args) {
    const Ref y = test.op(ops, args);
    const Dims dims = ops.dims(y);
    const Numbers weights = Spread(NumElements(dims), 0.3);
    const Ref w = ops.Const(
        std::make_shared<const NdArray>(NdArray::Of<double>(dims, weights)));
    return ops.Sum(ops.Mul(y, w));
  };
}

TEST_P(PrimitiveTest, GradientAndBits) {
  const Loss loss = WeightedSum(GetParam());
  ScalarTrainer eager(TestDevice::Interpreter(), Params(), loss);
  ScalarTrainer compiled(TestDevice::Interpreter(), Params(), loss,
                         {.mode = TrainerMode::kCompiled});
  auto first = eager.ValueAndGrad({});
  ASSERT_THAT(first, IsOk());
  auto second = compiled.ValueAndGrad({});
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(first->loss, second->loss);
  for (size_t k = 0; k < args_.size(); ++k) {
    EXPECT_TRUE(SameBits(first->gradients[k], second->gradients[k]));
  }
  // Op by op and as one.
  Session session(TestDevice::Interpreter(), {});
  session.Begin();
  ParamList params = Params();
  ASSERT_THAT(session.Use(params, {}), IsOk());
  const Ref sum = loss(session, session.args());
  EXPECT_EQ(session.Value(sum)->AsDouble(0), first->loss);

  constexpr double kStep = 1e-6;
  for (size_t k = 0; k < args_.size(); ++k) {
    for (size_t i = 0; i < args_[k].size(); ++i) {
      auto at = [&](double shift) {
        Args moved = args_;
        moved[k][i] += shift;
        CHECK_OK(compiled.SetParams(Values(moved)));
        return *compiled.Forward({});
      };
      const double slope = (at(kStep) - at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(first->gradients[k].AsDouble(i),
                  GetParam().has_gradient ? slope : 0, 1e-8)
          << "cell " << i << " of operand " << k;
    }
  }
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Pointwise, PrimitiveTest,
                         testing::ValuesIn(PointwiseCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Function, PrimitiveTest,
                         testing::ValuesIn(FunctionCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Group, PrimitiveTest, testing::ValuesIn(GroupCases()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Shape, PrimitiveTest, testing::ValuesIn(ShapeCases()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Index, PrimitiveTest, testing::ValuesIn(IndexCases()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Join, PrimitiveTest, testing::ValuesIn(JoinCases()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Scatter, PrimitiveTest,
                         testing::ValuesIn(ScatterCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Sum, PrimitiveTest, testing::ValuesIn(SumCases()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Product, PrimitiveTest,
                         testing::ValuesIn(ProductCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Layer, PrimitiveTest, testing::ValuesIn(LayerCases()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Pooling, PrimitiveTest,
                         testing::ValuesIn(PoolingCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Convolution, PrimitiveTest,
                         testing::ValuesIn(ConvolutionCases()), NameOf);

// A corner of a derivative decides nothing but itself: the others keep theirs.
TEST(CornerTest, Derivatives) {
  ParamList corners =
      *ParamList::Allocate({NdArray::Of<float>({4}, {0, -0.5f, 0.5f, 4})});
  Session session(TestDevice::Interpreter(), {});
  auto slopes_of = [&](auto of) {
    session.Begin();
    CHECK_OK(session.Use(corners, {}));
    const Ref w = session.args()[0];
    auto both = session.Gradients(session.Sum(of(w)), {w});
    CHECK_OK(both.status());
    const NdArray& gradient = both->gradients[0];
    const auto slopes = gradient.values<float>();
    return std::vector<float>(slopes.begin(), slopes.end());
  };
  EXPECT_THAT(slopes_of([&](Ref w) { return session.Abs(w); }),
              ElementsAre(0, -1, 1, 1));
  EXPECT_THAT(slopes_of([&](Ref w) { return session.Relu(w); }),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(slopes_of([&](Ref w) { return session.Sqrt(w); }),
              ElementsAre(0, 0, testing::FloatNear(0.70710678f, 1e-6f), 0.25));
  EXPECT_THAT(slopes_of([&](Ref w) { return session.Clamp(w, -0.5, 4); }),
              ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(slopes_of([&](Ref w) { return session.Max(w, w); }),
              ElementsAre(1, 1, 1, 1));
}

}  // namespace
}  // namespace ocannl::train
