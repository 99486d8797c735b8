// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/math.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"
#include "tests/support/block_evaluator.h"
#include "tests/support/math_accuracy.h"

namespace ocannl {
namespace {

constexpr int kBlock = BlockEvaluator::kBlock;
constexpr uint64_t kSeed = 20240229;

template <class T>
constexpr DType kDType = std::is_same_v<T, float> ? DType::kF32 : DType::kF64;

// A row of one or two operands on blocks of numbers.
template <class T>
class Row {
 public:
  explicit Row(Op op) : op_(op), evaluator_(pool_, Build(op).id()) {}

  // The greatest errors over pairs of numbers.
  Accuracy<T> Measure(const std::vector<T>& xs, const std::vector<T>& ys) {
    Accuracy<T> accuracy;
    for (size_t begin = 0; begin < xs.size(); begin += kBlock) {
      const size_t size = std::min<size_t>(kBlock, xs.size() - begin);
      std::copy_n(xs.data() + begin, size, evaluator_.leaf<T>(0));
      if (Info(op_).arity == 2) {
        std::copy_n(ys.data() + begin, size, evaluator_.leaf<T>(1));
      }
      const T* values = evaluator_.Run<T>();
      for (size_t i = 0; i < size; ++i) {
        const T x = xs[begin + i], y = ys[begin + i];
        accuracy.Add(x, y, values[i], Reference(op_, x, y));
      }
    }
    return accuracy;
  }

  T At(T x, T y) {
    evaluator_.leaf<T>(0)[0] = x;
    if (Info(op_).arity == 2) evaluator_.leaf<T>(1)[0] = y;
    return evaluator_.Run<T>()[0];
  }

 private:
  Expr Build(Op op) {
    Expr x = MakeLeaf(pool_, kDType<T>, 0);
    if (Info(op).arity == 1) return ApplyOp(op, {x}, kDType<T>);
    return ApplyOp(op, {x, MakeLeaf(pool_, kDType<T>, 1)}, kDType<T>);
  }

  ExprPool pool_;
  Op op_;
  BlockEvaluator evaluator_;
};

// Numbers on which an algorithm is likely to go wrong.
template <class T>
std::vector<T> SpecialValues() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {
      T(0), T(0.5), T(1), T(1.5), T(2), T(3), T(41), T(0.625), T(10), T(18),
      T(std::sqrt(0.5)), T(std::sqrt(2.0)), T(M_PI_4), T(M_PI_2), T(M_PI),
      // Where exp and exp2 of f32 and f64 overflow and underflow.
      T(88.72283), T(87.33654), T(103.97208), T(104), T(126), T(128), T(149),
      T(150), T(709.782712893384), T(708.3964185322641), T(745.1332191019411),
      T(746), T(1022), T(1024), T(1074), T(1075),
      // Where sinh and cosh overflow, atan2 changes its polynomial's argument,
      // and the root in asinh and acosh is their argument.
      T(89.41599), T(710.475860073944), T(0.6422), T(0x1p13), T(0x1p28),
      // Near multiples of pi / 2, for f32 and for f64.
      T(16367173.0 * 0x1p72), T(6381956970095103.0 * 0x1p797),
      // Odd, even and broken exponents of pow.
      T(16777215), T(16777216), T(8388607.5), T(9007199254740991.0),
      Limits::min(), Limits::denorm_min(), Limits::max(), Limits::epsilon(),
      Limits::infinity()};
  const size_t size = values.size();
  for (size_t i = 0; i < size; ++i) {
    const T value = values[i];
    values.push_back(std::nextafter(value, T(0)));
    values.push_back(std::nextafter(value, Limits::infinity()));
  }
  for (size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  values.push_back(Limits::quiet_NaN());
  return values;
}

// Each special value with each other one.
template <class T>
Accuracy<T> MeasureSpecialValues(Op op) {
  const std::vector<T> values = SpecialValues<T>();
  std::vector<T> xs, ys;
  for (T x : values) {
    for (T y : values) {
      xs.push_back(x);
      ys.push_back(y);
      if (Info(op).arity == 1) break;
    }
  }
  return Row<T>(op).Measure(xs, ys);
}

// All kinds of bits, and numbers of ordinary size.
template <class T>
Accuracy<T> MeasureSample(Op op, int size) {
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<T> unit(-1, 1);
  auto number = [&] {
    const uint64_t bits = random();
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  };
  Row<T> row(op);
  Accuracy<T> accuracy;
  std::vector<T> xs(kBlock), ys(kBlock);
  for (int i = 0; i < size; i += kBlock) {
    for (int j = 0; j < kBlock; j += 4) {
      xs[j] = number();
      xs[j + 1] = 1 + unit(random) / 2;
      xs[j + 2] = unit(random);
      xs[j + 3] = 120 * unit(random);
      ys[j] = number();
      ys[j + 1] = 300 * unit(random);
      ys[j + 2] = 50 * unit(random);
      ys[j + 3] = std::round(10 * unit(random));
    }
    accuracy.Merge(row.Measure(xs, ys));
  }
  return accuracy;
}

class MathTest : public testing::TestWithParam<AccuracyBound> {};

TEST_P(MathTest, F32KeepsItsBound) {
  const auto& [op, f32, f64] = GetParam();
  const Accuracy<float> special = MeasureSpecialValues<float>(op);
  EXPECT_LE(special.max_ulp, f32) << special.worst_x << ", " << special.worst_y;
  const Accuracy<float> sample = MeasureSample<float>(op, 4 << 20);
  EXPECT_LE(sample.max_ulp, f32)
      << sample.worst_x << ", " << sample.worst_y << "; seed " << kSeed;
}

TEST_P(MathTest, F64KeepsItsBound) {
  const auto& [op, f32, f64] = GetParam();
  const Accuracy<double> special = MeasureSpecialValues<double>(op);
  EXPECT_LE(special.max_ulp, f64) << special.worst_x << ", " << special.worst_y;
  const Accuracy<double> sample = MeasureSample<double>(op, 1 << 20);
  EXPECT_LE(sample.max_ulp, f64)
      << sample.worst_x << ", " << sample.worst_y << "; seed " << kSeed;
}

INSTANTIATE_TEST_SUITE_P(Rows, MathTest, testing::ValuesIn(AccuracyBounds()),
                         [](const auto& row) {
                           return std::string(Info(row.param.op).name);
                         });

TEST(MathTest, SampleFindsAWrongFunction) {
  // cos measured as if it were sin.
  Accuracy<float> accuracy;
  Row<float> row(Op::kCos);
  accuracy.Add(1.0f, 0.0f, row.At(1, 0), Reference(Op::kSin, 1.0f, 0.0f));
  EXPECT_GT(accuracy.max_ulp, 1e6);
}

TEST(MathTest, UlpErrorCountsLastPlaces) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(UlpError(1.0f, 1.0), 0);
  EXPECT_EQ(UlpError(1.0f, 1 + 0x1p-23), 1);
  EXPECT_EQ(UlpError(1.0f, 1 - 0x1p-24), 1);
  EXPECT_EQ(UlpError(0x1p-149f, 0x1.8p-149), 0.5);
  EXPECT_EQ(UlpError(0.0f, 0x1p-150), 0.5);
  // An infinity stands for the number after the greatest.
  EXPECT_EQ(UlpError(HUGE_VALF, 0x1.fffffep127), 1);
  EXPECT_EQ(UlpError(0.0f, -0.0), kInfinity);
  EXPECT_EQ(UlpError(1.0f, -1.0), kInfinity);
  EXPECT_EQ(UlpError(1.0f, std::nan("")), kInfinity);
  EXPECT_EQ(UlpError(3e38f, kInfinity), kInfinity);
}

}  // namespace
}  // namespace ocannl
