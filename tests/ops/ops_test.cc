// SPDX-License-Identifier: Apache-2.0
//
// Every row of ops.def: its value on all types that it takes, at random and at
// special points, and its gradients. A new derived row of floats needs nothing
// here; a primitive needs its derivative in dual.cc or its result on integers
// in exact_integer.cc.
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "gtest/gtest.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/ops/rows.h"
#include "tests/support/block_evaluator.h"
#include "tests/support/dual.h"
#include "tests/support/exact_integer.h"
#include "tests/support/math_accuracy.h"

namespace ocannl {
namespace {

constexpr int kBlock = BlockEvaluator::kBlock;
constexpr uint64_t kSeed = 1729;

// The types of a row's operands when they are `dtype`, if it takes them.
std::optional<std::vector<DType>> OperandTypes(Op op, DType dtype) {
  if (!Accepts(Info(op).typing, dtype)) return std::nullopt;
  std::vector<DType> types(Info(op).arity, dtype);
  if (op == Op::kSelect) types[0] = DType::kBool;
  return types;
}

// op(leaf 0, leaf 1, ...) on operands of type `dtype`.
struct Application {
  Application(Op op, DType dtype)
      : types(*OperandTypes(op, dtype)),
        args(Leaves()),
        root(ApplyOp(op, args, dtype)) {}

  std::vector<Expr> Leaves() {
    std::vector<Expr> leaves;
    for (DType type : types) {
      leaves.push_back(MakeLeaf(pool, type, static_cast<int>(leaves.size())));
    }
    return leaves;
  }

  ExprPool pool;
  std::vector<DType> types;
  std::vector<Expr> args;
  Expr root;
};

class OpsTest : public testing::TestWithParam<Op> {
 protected:
  const OpInfo& info_ = Info(GetParam());
  std::mt19937_64 random_{kSeed};
};

INSTANTIATE_TEST_SUITE_P(Rows, OpsTest, testing::ValuesIn(AllOps()),
                         [](const auto& row) {
                           return std::string(Info(row.param).name);
                         });

TEST_P(OpsTest, ExpandsToPrimitives) {
  bool taken = false;
  for (DType dtype : {DType::kBool, DType::kU32, DType::kF32, DType::kF64}) {
    if (!OperandTypes(GetParam(), dtype)) continue;
    taken = true;
    Application row(GetParam(), dtype);
    ExprId expanded = Expand(row.pool, row.root.id());
    EXPECT_EQ(TypeOf(row.pool, expanded), row.root.dtype());
    Rewrite(row.pool, expanded, [&](ExprId id) {
      const Apply* apply = std::get_if<Apply>(&row.pool[id]);
      EXPECT_TRUE(apply == nullptr || Info(apply->op).primitive);
      return id;
    });
  }
  EXPECT_TRUE(taken);
}

// Floats ----------------------------------------------------------------------

template <class T>
T RandomFloat(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  static constexpr T kSpecial[] = {T(0),
                                   T(-0.0),
                                   T(1),
                                   T(-1),
                                   T(0.5),
                                   T(-2.5),
                                   Limits::min(),
                                   Limits::max(),
                                   Limits::denorm_min(),
                                   -Limits::max(),
                                   Limits::infinity(),
                                   -Limits::infinity(),
                                   Limits::quiet_NaN()};
  if (random() % 4 == 0) return kSpecial[random() % std::size(kSpecial)];
  return std::uniform_real_distribution<T>(-20, 20)(random);
}

// The results of a row, of whatever type, as doubles.
std::vector<double> RunRow(BlockEvaluator& evaluator, DType dtype) {
  return VisitDType(dtype, [&](auto zero) {
    const auto* values = evaluator.Run<decltype(zero)>();
    return std::vector<double>(values, values + kBlock);
  });
}

// Whether products of products leave the range of T on the way.
template <class T>
bool Overflows(Op op, const absl::flat_hash_map<int, Dual>& at) {
  if (op != Op::kMul3) return false;
  return !std::isnormal(static_cast<T>(at.at(0).value * at.at(1).value));
}

// Compares a row with the dual evaluator, which knows it by libm.
template <class T>
void CheckFloats(Op op, std::mt19937_64& random, double ulps) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  using Wide = std::conditional_t<kIsFloat, double, long double>;
  Application row(op, kIsFloat ? DType::kF32 : DType::kF64);
  BlockEvaluator evaluator(row.pool, row.root.id());
  std::vector<absl::flat_hash_map<int, Dual>> points(kBlock);
  for (int i = 0; i < kBlock; ++i) {
    for (int arg = 0; arg < Info(op).arity; ++arg) {
      if (row.types[arg] == DType::kBool) {
        points[i][arg].value = evaluator.leaf<bool>(arg)[i] = i % 2 == 0;
      } else {
        points[i][arg].value = evaluator.leaf<T>(arg)[i] =
            RandomFloat<T>(random);
      }
    }
  }
  const std::vector<double> values = RunRow(evaluator, row.root.dtype());
  for (int i = 0; i < kBlock; ++i) {
    const double wanted =
        DualEvaluator(row.pool, points[i]).Eval(row.root.id()).value;
    if (Overflows<T>(op, points[i])) continue;
    // `wanted` cannot be half of the least number.
    constexpr double kLeast = std::numeric_limits<double>::denorm_min();
    if (wanted == 0 && std::abs(values[i]) == kLeast) continue;
    EXPECT_LE(UlpError(static_cast<T>(values[i]), Wide{wanted}), ulps)
        << values[i] << " instead of " << wanted << " at " << points[i][0].value
        << ", " << points[i][1].value;
  }
}

TEST_P(OpsTest, ValuesOfFloats) {
  if (!OperandTypes(GetParam(), DType::kF64)) GTEST_SKIP();
  for (int round = 0; round < 8; ++round) {
    CheckFloats<float>(GetParam(), random_, 2);
    CheckFloats<double>(GetParam(), random_, 4);
  }
}

// Integers --------------------------------------------------------------------

template <class T>
T RandomInteger(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  static constexpr T kSpecial[] = {T(0),          T(1),          T(-1), T(7),
                                   Limits::min(), Limits::max(), T(31), T(64)};
  if (random() % 2 == 0) return kSpecial[random() % std::size(kSpecial)];
  return static_cast<T>(random() >> random() % 64);
}

template <class T>
void CheckIntegers(Op op, DType dtype, std::mt19937_64& random) {
  Application row(op, dtype);
  BlockEvaluator evaluator(row.pool, row.root.id());
  std::vector<std::vector<Int128>> points(kBlock, std::vector<Int128>(3));
  for (int i = 0; i < kBlock; ++i) {
    for (int arg = 0; arg < Info(op).arity; ++arg) {
      if (row.types[arg] == DType::kBool) {
        points[i][arg] = evaluator.leaf<bool>(arg)[i] = random() % 2 == 0;
      } else {
        points[i][arg] = evaluator.leaf<T>(arg)[i] = RandomInteger<T>(random);
      }
    }
  }
  VisitDType(row.root.dtype(), [&](auto zero) {
    using R = decltype(zero);
    if constexpr (!kIsNarrow<R>) {
      const R* values = evaluator.Run<R>();
      for (int i = 0; i < kBlock; ++i) {
        const std::vector<Int128>& at = points[i];
        EXPECT_EQ(values[i], static_cast<R>(ExactInteger(op, 8 * sizeof(T),
                                                         at[0], at[1], at[2])))
            << Name(dtype) << " " << T(at[0]) << ", " << T(at[1]);
      }
    }
  });
}

TEST_P(OpsTest, ValuesOfIntegers) {
  if (!OperandTypes(GetParam(), DType::kI32)) GTEST_SKIP();
  CheckIntegers<uint8_t>(GetParam(), DType::kU8, random_);
  CheckIntegers<int32_t>(GetParam(), DType::kI32, random_);
  CheckIntegers<uint32_t>(GetParam(), DType::kU32, random_);
  CheckIntegers<int64_t>(GetParam(), DType::kI64, random_);
  CheckIntegers<uint64_t>(GetParam(), DType::kU64, random_);
}

TEST_P(OpsTest, ValuesOfWords) {
  if (info_.typing != Typing::kWord) GTEST_SKIP();
  const ThreefryVariant variant = GetParam() == Op::kThreefryLight
                                      ? ThreefryVariant::kLight
                                      : ThreefryVariant::kCrypto;
  Application row(GetParam(), DType::kU32);
  BlockEvaluator evaluator(row.pool, row.root.id());
  for (int i = 0; i < kBlock; ++i) {
    for (int arg = 0; arg < 5; ++arg) {
      evaluator.leaf<uint32_t>(arg)[i] = static_cast<uint32_t>(random_());
    }
    evaluator.leaf<uint32_t>(5)[i] = i % 4;
  }
  auto word = [&](int arg, int i) { return evaluator.leaf<uint32_t>(arg)[i]; };
  const uint32_t* values = evaluator.Run<uint32_t>();
  for (int i = 0; i < kBlock; ++i) {
    const uint32_t n = word(4, i);
    EXPECT_EQ(
        values[i],
        Threefry(variant, {word(0, i), word(1, i), word(2, i), word(3, i)},
                 {n, n ^ 0x9E3779B9, n ^ 0x6C078965,
                  n ^ (n << 16 | n >> 16)})[word(5, i)]);
  }
}

// Gradients -------------------------------------------------------------------

TEST_P(OpsTest, GradientsAreTheDerivatives) {
  if (!OperandTypes(GetParam(), DType::kF64)) GTEST_SKIP();
  Application row(GetParam(), DType::kF64);
  Expr g = MakeLeaf(row.pool, row.root.dtype(), info_.arity);
  auto gradients = Gradients(GetParam(), row.args, row.root, g);
  ASSERT_EQ(gradients.size(), info_.arity);
  std::uniform_real_distribution<double> around(-6, 6);
  for (int arg = 0; arg < info_.arity; ++arg) {
    int finite = 0;
    for (int i = 0; i < 1000; ++i) {
      absl::flat_hash_map<int, Dual> at;
      for (int leaf = 0; leaf <= info_.arity; ++leaf) {
        at[leaf].value = around(random_);
      }
      if (i % 2 == 0) at[0].value = std::abs(at[0].value);
      if (i % 5 < 2) at[arg].value /= 6;  // where there is an asin
      at[arg].slope = 1;
      DualEvaluator evaluator(row.pool, at);
      const double wanted = evaluator.Eval(row.root.id()).slope;
      if (!gradients[arg]) {
        EXPECT_EQ(wanted, 0) << "operand " << arg << " has a gradient";
        continue;
      }
      if (!std::isfinite(wanted)) continue;
      ++finite;
      const double got = evaluator.Eval(gradients[arg]->id()).value;
      const double g_value = at[info_.arity].value;
      EXPECT_NEAR(got, g_value * wanted, 1e-9 * std::abs(g_value * wanted))
          << "operand " << arg << " of " << at[0].value << ", " << at[1].value;
    }
    EXPECT_TRUE(!gradients[arg] || finite > 300) << finite;
  }
}

TEST_P(OpsTest, NoGradientsOfIntegers) {
  if (OperandTypes(GetParam(), DType::kF64)) GTEST_SKIP();
  Application row(GetParam(), DType::kU32);
  for (const auto& gradient :
       Gradients(GetParam(), row.args, row.root, row.root)) {
    EXPECT_EQ(gradient, std::nullopt);
  }
}

// The gradient of op(a) or of op(a, b) for an operand, where g is 1.
double GradientAt(Op op, double a, double b = 0, int operand = 0) {
  Application row(op, DType::kF64);
  Expr g = MakeLeaf(row.pool, DType::kF64, 2);
  auto gradient = Gradients(op, row.args, row.root, g)[operand];
  DualEvaluator at(row.pool, {{0, {a}}, {1, {b}}, {2, {1}}});
  return at.Eval(gradient->id()).value;
}

TEST(OpsGradientTest, GatesAreOpenOnlyInside) {
  EXPECT_EQ(GradientAt(Op::kRelu, 0), 0);
  EXPECT_EQ(GradientAt(Op::kRelu, 0.5), 1);
  EXPECT_EQ(GradientAt(Op::kSat01, 0), 0);
  EXPECT_EQ(GradientAt(Op::kSat01, 0.5), 1);
  EXPECT_EQ(GradientAt(Op::kSat01, 1), 0);
  EXPECT_EQ(GradientAt(Op::kAbs, 0), 0);
}

TEST(OpsGradientTest, TiesGoToTheOperandTaken) {
  EXPECT_EQ(GradientAt(Op::kMax, 2, 2), 0);
  EXPECT_EQ(GradientAt(Op::kMin, 2, 2), 0);
}

TEST(OpsGradientTest, PolarCoordinatesOfTheOrigin) {
  for (int operand : {0, 1}) {
    EXPECT_EQ(GradientAt(Op::kHypot, 0, 0, operand), 0);
    EXPECT_EQ(GradientAt(Op::kAtan2, 0, 0, operand), 0);
  }
}

TEST(OpsGradientTest, PowerOfZero) {
  EXPECT_EQ(GradientAt(Op::kPow, 0, 2), 0);
  EXPECT_EQ(GradientAt(Op::kPow, 0, 1), 1);
  EXPECT_EQ(GradientAt(Op::kPow, 0, 0), 0);
}

TEST(OpsGradientTest, PowerOfZeroByItsExponent) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(GradientAt(Op::kPow, 0, 0, 1), 0);
  EXPECT_EQ(GradientAt(Op::kPow, -0.0, 0, 1), 0);
  EXPECT_EQ(GradientAt(Op::kPow, 0, 2, 1), 0);
  EXPECT_EQ(GradientAt(Op::kPow, 0, -1, 1), -kInfinity);
  EXPECT_EQ(GradientAt(Op::kPow, kInfinity, -1, 1), 0);
}

}  // namespace
}  // namespace ocannl
