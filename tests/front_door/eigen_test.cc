// SPDX-License-Identifier: Apache-2.0
//
// Arrays as Eigen's types and the other way: the cells, who owns them, and what
// is refused. 1 second.
#include "ocannl/eigen.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/emulation/emulated_cuda.h"
#include "ocannl/ocannl.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using eigen::ArrayOf;
using eigen::FillMap;
using eigen::MapOf;
using eigen::UseMap;
using testing::AllOf;
using testing::HasSubstr;

NdArray Counting(Dims dims) {
  NdArray array(DType::kF32, std::move(dims));
  for (int64_t i = 0; i < array.size(); ++i) {
    array.values<float>()[i] = static_cast<float>(i);
  }
  return array;
}

// The cells of `array` in a matrix of 2 rows and 3 columns, by memory order.
template <class Scalar>
void CheckScalar(DType dtype) {
  NdArray array(dtype, {2, 3});
  {
    auto map = MapOf<eigen::Matrix<Scalar>>(array);
    ASSERT_THAT(map, IsOk());
    (*map)(1, 0) = Scalar(1);
  }
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(array.AsDouble(i), i == 3);
  eigen::Matrix<Scalar> copy = *MapOf<eigen::Matrix<Scalar>>(array);
  EXPECT_TRUE(SameBits(ArrayOf(copy), array)) << Name(dtype);
}

TEST(EigenTest, EachScalarHasItsDType) {
  CheckScalar<bool>(DType::kBool);
  CheckScalar<uint8_t>(DType::kU8);
  CheckScalar<uint16_t>(DType::kU16);
  CheckScalar<int32_t>(DType::kI32);
  CheckScalar<uint32_t>(DType::kU32);
  CheckScalar<int64_t>(DType::kI64);
  CheckScalar<uint64_t>(DType::kU64);
  CheckScalar<Eigen::bfloat16>(DType::kBF16);
  CheckScalar<Eigen::half>(DType::kF16);
  CheckScalar<float>(DType::kF32);
  CheckScalar<double>(DType::kF64);
}

TEST(EigenTest, NarrowFloatsComputeInPlace) {
  NdArray half = NdArray::Of<F16>({3}, {{0x3c00}, {0x0001}, {0x7bff}});
  MapOf<eigen::Vector<Eigen::half>>(half)->array() *= Eigen::half(2);
  EXPECT_EQ(half.AsDouble(0), 2);
  EXPECT_EQ(half.AsDouble(1), 0x1p-23);
  EXPECT_EQ(half.values<F16>()[2].bits, 0x7c00);  // infinite
  NdArray brain = NdArray::Of<BF16>({1, 2}, {{0x3f80}, {0x4049}});
  const auto map = MapOf<eigen::Matrix<Eigen::bfloat16>>(std::as_const(brain));
  EXPECT_EQ(static_cast<float>((*map)(0, 1)), 3.140625f);
}

TEST(EigenTest, AMapHasTheCellsOfTheArray) {
  NdArray array = Counting({2, 3});
  auto matrix = MapOf<eigen::Matrix<float>>(array);
  ASSERT_THAT(matrix, IsOk());
  EXPECT_EQ(matrix->data(), array.values<float>().data());
  EXPECT_EQ((*matrix)(1, 2), 5);
  *matrix *= 2;
  EXPECT_EQ(array.AsDouble(5), 10);
  // Other types of the same cells.
  EXPECT_EQ((*MapOf<Eigen::Matrix<float, 2, 3, Eigen::RowMajor>>(array))(1, 1),
            8);
  using Few = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic,
                            Eigen::RowMajor, 2, 4>;
  EXPECT_EQ(MapOf<Few>(array)->sum(), 30);
  using Cells = Eigen::Array<float, Eigen::Dynamic, 3, Eigen::RowMajor>;
  EXPECT_EQ(MapOf<Cells>(array)->maxCoeff(), 10);
  NdArray column = Counting({3, 1});
  EXPECT_EQ(MapOf<eigen::Vector<float>>(column)->size(), 3);
  NdArray row = Counting({3});
  EXPECT_EQ((*MapOf<Eigen::RowVector3f>(row))(2), 2);
  NdArray none = Counting({0, 3});
  EXPECT_EQ(MapOf<eigen::Matrix<float>>(none)->cols(), 3);
}

TEST(EigenTest, TensorsHaveTheAxesOfTheArray) {
  NdArray array = Counting({2, 3, 4});
  auto tensor = MapOf<eigen::Tensor<float, 3>>(array);
  ASSERT_THAT(tensor, IsOk());
  EXPECT_EQ((*tensor)(1, 2, 3), 23);
  (*tensor)(0, 1, 2) = 100;
  EXPECT_EQ(array.AsDouble(6), 100);
  const auto constant = MapOf<eigen::Tensor<float, 3>>(std::as_const(array));
  EXPECT_EQ((*constant)(0, 1, 2), 100);
  NdArray cell = Counting({});
  (*MapOf<eigen::Tensor<float, 0>>(cell))() = 3;
  EXPECT_EQ(cell.AsDouble(0), 3);
  NdArray vector = Counting({3});
  EXPECT_EQ((*MapOf<Eigen::Tensor<float, 1>>(vector))(2), 2);
}

TEST(EigenTest, NoCellsAndManyAxes) {
  NdArray none = Counting({2, 0, 3});
  auto empty = MapOf<eigen::Tensor<float, 3>>(none);
  ASSERT_THAT(empty, IsOk());
  EXPECT_EQ(empty->size(), 0);
  EXPECT_EQ(ArrayOf(*empty).dims(), Dims({2, 0, 3}));
  EXPECT_EQ(ArrayOf(Eigen::Tensor<float, 3>(2, 0, 3)).dims(), Dims({2, 0, 3}));
  EXPECT_EQ(ArrayOf(Eigen::VectorXf(0)).dims(), Dims({0}));
  NdArray nothing = Counting({0});
  EXPECT_EQ(MapOf<eigen::Vector<float>>(nothing)->size(), 0);
  NdArray deep = Counting({1, 2, 1, 2, 1, 2, 1, 2});
  auto map = MapOf<eigen::Tensor<float, 8>>(deep);
  ASSERT_THAT(map, IsOk());
  EXPECT_EQ((*map)(0, 1, 0, 1, 0, 1, 0, 1), 15);
  EXPECT_TRUE(SameBits(ArrayOf(*map), deep));
}

TEST(EigenTest, ArraysOfMatricesAreRowMajorCopies) {
  Eigen::MatrixXf columns(2, 3);
  columns << 0, 1, 2, 3, 4, 5;
  const NdArray expected = Counting({2, 3});
  EXPECT_TRUE(SameBits(ArrayOf(columns), expected));
  EXPECT_TRUE(SameBits(ArrayOf(eigen::Matrix<float>(columns)), expected));
  EXPECT_TRUE(SameBits(ArrayOf(columns.array()), expected));
  EXPECT_TRUE(
      SameBits(ArrayOf(columns * Eigen::Matrix3f::Identity()), expected));
  EXPECT_TRUE(SameBits(ArrayOf(columns.transpose()),
                       NdArray::Of<float>({3, 2}, {0, 3, 1, 4, 2, 5})));
  EXPECT_TRUE(
      SameBits(ArrayOf(columns.row(1)), NdArray::Of<float>({3}, {3, 4, 5})));
  EXPECT_TRUE(
      SameBits(ArrayOf(columns.col(1)), NdArray::Of<float>({2}, {1, 4})));
  EXPECT_TRUE(SameBits(ArrayOf((columns.array() > 3).eval()),
                       NdArray::Of<bool>({2, 3}, {0, 0, 0, 0, 1, 1})));
  EXPECT_EQ(ArrayOf(Eigen::MatrixXd(0, 3)).dims(), Dims({0, 3}));
}

TEST(EigenTest, ArraysOfTensorsAreRowMajorCopies) {
  const NdArray expected = Counting({2, 3, 4});
  const eigen::Tensor<float, 3> rows =
      *MapOf<eigen::Tensor<float, 3>>(expected);
  EXPECT_TRUE(SameBits(ArrayOf(rows), expected));
  Eigen::Tensor<float, 3> columns(2, 3, 4);
  for (int i = 0; i < 24; ++i) columns(i / 12, i / 4 % 3, i % 4) = i;
  EXPECT_TRUE(SameBits(ArrayOf(columns), expected));
  EXPECT_TRUE(SameBits(ArrayOf(columns * 1.f), expected));
  EXPECT_TRUE(SameBits(ArrayOf(columns.chip(1, 0).sum()),
                       NdArray::Of<float>({}, {210})));
  Eigen::Tensor<float, 3> mine = columns;
  EXPECT_TRUE(SameBits(ArrayOf(mine), expected));
}

auto Refused(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  AllOf(HasSubstr("eigen_test.cc:"), HasSubstr(text)));
}

TEST(EigenTest, WhatDoesNotFitIsRefused) {
  NdArray half(DType::kF16, {2, 3});
  EXPECT_THAT(MapOf<eigen::Matrix<float>>(half),
              Refused("the array is f16[2, 3], and the map's type has cells of "
                      "f32; take Eigen::half, as in "
                      "eigen::Matrix<Eigen::half>"));
  NdArray fp8(DType::kF8E4M3, {2});
  EXPECT_THAT(MapOf<eigen::Vector<float>>(fp8),
              Refused("f8e4m3[2], and Eigen has no scalar of f8e4m3; convert"));
  NdArray array(DType::kF32, {2, 3});
  EXPECT_THAT(MapOf<eigen::Vector<float>>(array),
              Refused("makes 3 columns, and the map's type has 1; take "
                      "Eigen::Dynamic there, as in eigen::Matrix<float>"));
  EXPECT_THAT((MapOf<eigen::Tensor<float, 3>>(array)),
              Refused("which has 2 axes, and the map's type has 3; take "
                      "eigen::Matrix<float>"));
  EXPECT_THAT(MapOf<Eigen::MatrixXf>(array),
              Refused("row-major, and the map's type is column-major; take one "
                      "with Eigen::RowMajor, such as eigen::Matrix<float>"));
  EXPECT_THAT((MapOf<Eigen::Tensor<float, 2>>(array)), Refused("column-major"));
  EXPECT_THAT((MapOf<Eigen::Matrix<float, 3, 3, Eigen::RowMajor>>(array)),
              Refused("makes 2 rows, and the map's type has 3; take"));
  using Few = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic,
                            Eigen::RowMajor, 2, 2>;
  EXPECT_THAT(MapOf<Few>(array),
              Refused("makes 3 columns, and the map's type has at most 2"));
  NdArray images(DType::kI32, {2, 3, 4});
  EXPECT_THAT(MapOf<eigen::Matrix<int32_t>>(std::as_const(images)),
              Refused("i32[2, 3, 4], which has 3 axes, and the map's type has "
                      "2; take eigen::Tensor<int32_t, 3>"));
  const NdArray cell = Counting({});
  EXPECT_THAT(MapOf<eigen::Vector<float>>(cell),
              Refused("f32[], which has 0 axes, and the map's type has 1; take "
                      "eigen::Tensor<float, 0>"));
}

template <class T>
concept Mappable = requires(T array) {
  MapOf<eigen::Matrix<float>>(std::forward<T>(array));
};
static_assert(Mappable<NdArray&> && Mappable<const NdArray&>);
static_assert(!Mappable<NdArray>, "a map of a temporary would dangle");

// A parameter that each step doubles.
class EigenContextTest : public testing::Test {
 protected:
  static constexpr char kStep[] = R"(
step ():
  inout w : f32[2, 3];
  for i0 = 0 to 1 {
    for i1 = 0 to 2 {
      w[i0, i1] := w[i0, i1] + w[i0, i1];
    }
  }
)";

  // What a map shows between steps, and how a step sees what it changes.
  static void CheckSteps(const Context& context, bool in_place) {
    ASSERT_THAT(context.Write("w", Counting({2, 3})), IsOk());
    auto step = context.CompileAndLink(MustParse(kStep));
    ASSERT_THAT(step, IsOk());
    const NdArray before = *context.Read("w");
    const auto kept = MapOf<eigen::Matrix<float>>(before);
    const float* cells = nullptr;
    for (int k = 0; k < 20; ++k) {
      ASSERT_THAT(step->Run(), IsOk());
      ASSERT_THAT(step->Run(), IsOk());
      ASSERT_THAT(UseMap<eigen::Matrix<float>>(context, "w",
                                               [&](const auto& w) {
                                                 EXPECT_EQ(w(1, 2), 20);
                                                 if (k == 0) cells = w.data();
                                                 if (in_place) {
                                                   EXPECT_EQ(w.data(), cells);
                                                 }
                                               }),
                  IsOk());
      ASSERT_THAT(FillMap<eigen::Matrix<float>>(context, "w",
                                                [](auto w) { w *= 0.25f; }),
                  IsOk());
    }
    EXPECT_TRUE(SameBits(*context.Read("w"), before));
    EXPECT_EQ((*kept)(1, 2), 5);  // as when it was read
  }
};

TEST_F(EigenContextTest, StepsAndMapsShareTheCellsOnEachTier) {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    if (tier.starts_with("cuda")) continue;
    TestDevice host(*FindTier(tier));
    // With a GPU, the arrays of auto may be there.
    CheckSteps(host.context, host.device.backend().memory().is_host());
  }
}

TEST_F(EigenContextTest, AWorkerHasCalledWhenTheCallReturns) {
  const Device device("host", TestDevice::Interpreter());
  Worker worker;
  Stream stream(&device, {.worker = &worker});
  CheckSteps(Context(&stream), /*in_place=*/true);
}

TEST_F(EigenContextTest, OnAGpuTheyAreCopied) {
  TestDevice gpu(&emulation::EmulatedCuda());
  CheckSteps(gpu.context, /*in_place=*/false);
}

TEST_F(EigenContextTest, ErrorsNameTheArray) {
  TestDevice host;
  const auto ignore = [](const auto&) {};
  EXPECT_THAT(UseMap<eigen::Vector<float>>(host.context, "w", ignore),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("the context has no array `w`")));
  ASSERT_THAT(host.context.Write("w", Counting({2, 3})), IsOk());
  EXPECT_THAT(UseMap<eigen::Matrix<double>>(host.context, "w", ignore),
              Refused("`w` is f32[2, 3], and the map's type has cells of f64; "
                      "take float"));
  EXPECT_THAT(FillMap<Eigen::MatrixXf>(host.context, "w", ignore),
              Refused("`w` is f32[2, 3], row-major"));
  TestDevice other;
  auto step = other.context.CompileAndLink(MustParse(kStep));
  ASSERT_THAT(step, IsOk());
  EXPECT_THAT(UseMap<eigen::Matrix<float>>(other.context, "w", ignore),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("`w` was never written")));
  // Filling it writes it.
  ASSERT_THAT(FillMap<eigen::Matrix<float>>(other.context, "w",
                                            [](auto w) {
                                              EXPECT_TRUE(w.isZero());
                                              w.setOnes();
                                            }),
              IsOk());
  ASSERT_THAT(step->Run(), IsOk());
  EXPECT_EQ(other.context.Read("w")->AsDouble(5), 2);
}

// y = w * x, where Eigen made w and x.
TEST(EigenGraphTest, MatricesAreDataAndInputs) {
  Eigen::MatrixXf w(2, 3);
  w << 1, 2, 3, 4, 5, 6;
  const Eigen::Vector3f x(7, 8, 9);
  train::Model model;
  Tensor y = Named(
      Data(model.graph, "w", ArrayOf(w), {.rows = {Dims{}, Dims{2}, Dims{3}}}) *
          Input(model.graph, "x", "3"),
      "y");
  TestDevice host;
  auto code = train::Forward(model, y);
  ASSERT_THAT(code, IsOk());
  auto routine = ToRoutine(host.context, *code, {});
  ASSERT_THAT(routine, IsOk());
  for (float k : {1, 2}) {
    ASSERT_THAT(FillMap<eigen::Vector<float>>(host.context, "x",
                                              [&](auto in) { in = k * x; }),
                IsOk());
    ASSERT_THAT(routine->Run(), IsOk());
    const NdArray result = *host.context.Read("y");
    const Eigen::Vector2f expected = w * (k * x);
    EXPECT_EQ(*MapOf<Eigen::Vector2f>(result), expected);
  }
}

// What a session changes is seen by who asks again.
TEST(EigenSessionTest, AMapOfAParameterKeepsTheValueThatWasRead) {
  auto params = *train::ParamList::Allocate({ArrayOf(Eigen::Vector2f(1, 2))});
  train::ScalarTrainer trainer(
      TestDevice::Interpreter(), params,
      [](train::Ops& ops, absl::Span<const train::Ref> args) {
        return ops.MseLoss(args[0], args[1]);
      });
  const NdArray target = ArrayOf(Eigen::Vector2f(3, 2));
  const NdArray first = *params.Get(0);
  const auto map = MapOf<Eigen::Vector2f>(first);
  for (int k = 0; k < 3; ++k) {
    ASSERT_THAT(trainer.Step(0.5, {target}), IsOk());
  }
  EXPECT_EQ((*map)(0), 1);
  const NdArray later = *params.Get(0);
  EXPECT_GT((*MapOf<Eigen::Vector2f>(later))(0), 2);
}

}  // namespace
}  // namespace ocannl
