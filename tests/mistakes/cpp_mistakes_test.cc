// SPDX-License-Identifier: Apache-2.0
//
// Mistakes of newcomers in C++, and what the Status must say: the thing, its
// place, and what to write. A tenth of a second.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/ocannl.h"

namespace ocannl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ShapeSpec Rows(int64_t size) {
  return {.rows = {std::nullopt, Dims{size}, Dims{}}};
}

class CppMistakesTest : public ::testing::Test {
 protected:
  Tensor Given(const std::string& name, NdArray array, int64_t size,
               SourceLocation where = SourceLocation::Current()) {
    return Data(model_.graph, name, std::move(array), Rows(size), where);
  }
  Tensor Loss() { return train::MeanSquaredError(net_(x_), y_); }
  absl::StatusOr<Routine> Start(Tensor loss) {
    return train::StartTraining(model_, loss, Number(model_.graph, 0.1),
                                train::Sgd(), Context(&stream_));
  }
  // The message of training with these examples in the place of x.
  std::string With(Tensor x) {
    return Message(Start(train::MeanSquaredError(net_(x), y_)).status());
  }
  static std::string Message(const absl::Status& status) {
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  }

  train::Model model_;
  Device device_{"host", *FindTier("interp")};
  Stream stream_{&device_};
  Tensor x_ =
      Given("x", NdArray::Of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), 2);
  Tensor y_ = Given("y", NdArray::Of<float>({4}, {0, 1, 1, 0}), 1);
  train::Mlp net_{{&model_.graph, "net"}, {.sizes = {8, 1}}};
};

TEST_F(CppMistakesTest, LabelsOfAnotherNumberOfRows) {
  y_ = Given("z", NdArray::Of<float>({3}, {0, 1, 1}), 1);
  EXPECT_THAT(With(x_), AllOf(HasSubstr("the batch row of z is 3"),
                              HasSubstr("(cpp_mistakes_test.cc:")));
}

// The cells of examples would be mixed: 6 of 2 cells, of 4 of 3.
TEST_F(CppMistakesTest, ExamplesOfAnotherSize) {
  EXPECT_THAT(
      With(Given("z", NdArray(DType::kF32, {4, 3}), 2)),
      AllOf(HasSubstr("`z` (cpp_mistakes_test.cc:"), HasSubstr("axes 4, 3"),
            HasSubstr("an example of 2 cells; change the sizes")));
  // As it was said, and flat arrays have no axes to fit.
  Tensor z = Given("z", NdArray(DType::kF32, {4, 2, 1}), 2);
  EXPECT_TRUE(Start(train::MeanSquaredError(net_(z), y_)).ok());
  z = Given("z", NdArray(DType::kF32, {8}), 2);
  EXPECT_TRUE(Start(train::MeanSquaredError(net_(z), y_)).ok());
}

TEST_F(CppMistakesTest, NoRowsAreGiven) {
  EXPECT_THAT(With(Data(model_.graph, "z", NdArray(DType::kF32, {4, 2}), {})),
              HasSubstr("the batch and output rows are open; give all but"));
}

TEST_F(CppMistakesTest, DoublesInANetOfFloats) {
  EXPECT_THAT(With(Given("z", NdArray(DType::kF64, {4, 2}), 2)),
              HasSubstr("f64(y), in C++ Convert(y, DType::kF64)"));
}

TEST_F(CppMistakesTest, IntegersInANetOfFloats) {
  EXPECT_THAT(With(Given("z", NdArray(DType::kI32, {4, 2}), 2)),
              HasSubstr("f32(z), in C++ Convert(z, DType::kF32)"));
}

TEST_F(CppMistakesTest, ProductOfElements) {
  EXPECT_THAT(Message(train::Forward(model_, x_ * x_).status()),
              HasSubstr("PointMul in C++"));
}

TEST_F(CppMistakesTest, LossesOfManyCells) {
  const Tensor difference = net_(x_) - y_;
  EXPECT_THAT(Message(Start(PointMul(difference, difference)).status()),
              AllOf(HasSubstr("has shape 4|1; it must have one cell"),
                    HasSubstr("++ \"...|... => 0\"")));
  EXPECT_THAT(Message(train::GradUpdate(model_, net_(x_)).status()),
              HasSubstr("it must have one cell"));
}

TEST_F(CppMistakesTest, LossWithoutParameters) {
  EXPECT_THAT(Message(Start(train::MeanSquaredError(x_, x_)).status()),
              AllOf(HasSubstr("`MeanSquaredError(x, x)` "),
                    HasSubstr("no parameter reaches it")));
}

TEST_F(CppMistakesTest, ReadBeforeRunning) {
  const Tensor loss = Loss();
  absl::StatusOr<Routine> step = Start(loss);
  EXPECT_THAT(Message(step->context().Read(loss.node().name).status()),
              HasSubstr("was never written; run the routine"));
}

TEST_F(CppMistakesTest, WritesOfOtherSizesAndDTypes) {
  absl::StatusOr<Routine> step = Start(Loss());
  for (const NdArray& values :
       {NdArray(DType::kF32, {2, 2}), NdArray(DType::kF64, {4, 2})}) {
    EXPECT_THAT(Message(step->context().Write("x", values)),
                HasSubstr("has `x` as f32[4, 2]; give it so, or"));
  }
}

TEST_F(CppMistakesTest, NamesAndGraphs) {
  EXPECT_THAT(Message(ParseTensor(model_.graph, "relu({w} * z)", {}).status()),
              AllOf(HasSubstr("column 12: no tensor `z`"), HasSubstr("{z}")));
  train::Model other;
  const Tensor one = Number(other.graph, 1);
  EXPECT_THAT(Message(Start(train::MeanSquaredError(net_(x_), one)).status()),
              HasSubstr("are tensors of two graphs, which meet in "));
  EXPECT_THAT(Message(train::StartTraining(model_, Loss(), one, train::Sgd(),
                                           Context(&stream_))
                          .status()),
              HasSubstr("of another graph than the model's; make it in that"));
}

TEST_F(CppMistakesTest, OptionsAndTiers) {
  EXPECT_THAT(Message(train::Sgd({.momentum = 90}).status()),
              HasSubstr("momentum is 90; it must be in [0, 1)"));
  EXPECT_THAT(Message(FindTier("gpu").status()), HasSubstr("mean cuda?"));
  EXPECT_THAT(Message(FindTier("cpu").status()), HasSubstr("mean auto?"));
}

TEST_F(CppMistakesTest, HiddenSizeIsNotGiven) {
  const Tensor out =
      ParseTensor(model_.graph, "{w2} * relu({w1} * x)", {})->tensor;
  EXPECT_THAT(Message(Start(train::MeanSquaredError(out, y_)).status()),
              HasSubstr("give it, such as {w2; i=[16]}"));
}

TEST_F(CppMistakesTest, PredictionOfABatch) {
  absl::StatusOr<Routine> step = Start(Loss());
  ASSERT_TRUE(step->Run().ok());
  const Tensor one = Data(model_.graph, "one", NdArray(DType::kF32, {2}),
                          {.rows = {Dims{}, Dims{2}, Dims{}}});
  auto predictor =
      train::Predictor::Make(model_, net_(one), {one}, step->context());
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  EXPECT_THAT(
      Message(predictor->Predict({NdArray(DType::kF32, {4, 2})}).status()),
      AllOf(HasSubstr("`one` is f32[2], but the value is f32[4, 2]"),
            HasSubstr("make another Predictor")));
  EXPECT_TRUE(predictor->Predict({NdArray(DType::kF32, {2})}).ok());
}

TEST_F(CppMistakesTest, CrossEntropyOfIds) {
  const Tensor ids = Given("ids", NdArray(DType::kI32, {4}), 1);
  EXPECT_THAT(Message(Start(train::CrossEntropy(net_(x_), ids, {})).status()),
              AllOf(HasSubstr("`ids` (cpp_mistakes_test.cc:"),
                    HasSubstr("give OneHot(targets, classes, DType::kF32)")));
}

TEST_F(CppMistakesTest, ParametersOfAnotherNet) {
  const Tensor loss = Loss();
  absl::StatusOr<Routine> step = Start(loss);
  const std::string path = testing::TempDir() + "/net.npz";
  ASSERT_TRUE(train::SaveParams(path, *train::ParamArrays(model_, loss),
                                step->context())
                  .ok());
  train::Mlp big({&model_.graph, "big"}, {.sizes = {8, 1}});
  const Tensor other = train::MeanSquaredError(big(x_), y_);
  const auto arrays = train::ParamArrays(model_, other);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_THAT(Message(train::RestoreParams(path, *arrays, step->context())),
              AllOf(HasSubstr("4 arrays do not fit, and 0 do:\n"
                              "  it has no `big_layer1_w`\n"),
                    HasSubstr("; it has net_layer1_w"),
                    HasSubstr("give RestoreOptions::names")));
}

TEST_F(CppMistakesTest, SpecOfNumPy) {
  EXPECT_THAT(
      Message(train::Forward(model_, Einsum("ij,jk->ik", x_, x_)).status()),
      HasSubstr("NumPy's \"ij,jk->ik\" is \"ij; jk => ik\" here"));
}

TEST_F(CppMistakesTest, RandomNumbersWithoutAStep) {
  const Tensor noise = Uniform(model_.graph, {});
  EXPECT_THAT(With(x_ + noise), HasSubstr("add a static index `step`"));
}

TEST_F(CppMistakesTest, StaticIndices) {
  const int32_t n = model_.graph.AddStatic("n", 4);
  const auto code = train::Forward(model_, Slice(x_, n));
  ASSERT_TRUE(code.ok()) << code.status();
  auto routine = ToRoutine(Context(&stream_), *code, {});
  ASSERT_TRUE(routine.ok()) << routine.status();
  EXPECT_THAT(Message(routine->Run()), HasSubstr("call Set(\"n\", value)"));
  EXPECT_THAT(Message(routine->Set("n", 4)), HasSubstr("from 0 to 3"));
  EXPECT_THAT(Message(routine->Set("batch", 1)), HasSubstr("it has: n"));
}

}  // namespace
}  // namespace ocannl
