// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/infer.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/shape/test_tensors.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

// The shape of `tensor` after inference from `root`.
std::string ShapeIn(Tensor root, Tensor tensor) {
  Shapes shapes;
  absl::Status status = InferShapes(*root.graph, {root.id}, shapes);
  return status.ok() ? ToString(shapes.at(tensor.id))
                     : std::string(status.message());
}

// The classifier of two moons: batches of 10 out of 800.
struct Moons {
  Graph graph;
  int32_t batch = graph.AddStatic("batch_n", 80);
  Tensor flat =
      Data(graph, "moons_flat", NdArray(DType::kF32, {1600}), WithOutput({2}));
  Tensor classes = Data(graph, "moons_classes", NdArray(DType::kF32, {800}),
                        WithOutput({1}));
  Tensor x = Slice(flat, batch);
  Tensor y = Slice(classes, batch);
  Tensor w1 = MakeParam("w1", {});
  Tensor b1 = MakeParam("b1", WithOutput({16}));
  Tensor w2 = MakeParam("w2", {});
  Tensor b2 = MakeParam("b2", WithOutput({16}));
  Tensor w3 = MakeParam("w3", {});
  Tensor hidden = Relu(b1 + w1 * x);
  Tensor mlp = w3 * Relu(b2 + w2 * hidden);
  Tensor margin = Relu(1 - PointMul(y, mlp));
  Tensor loss = Einsum1("...|... => 0", margin) / 10;

  Tensor MakeParam(std::string name, ShapeSpec spec) {
    return Param(graph, std::move(name), std::move(spec), DType::kF32,
                 [](Tensor w) { return Xavier(Uniform1(*w.graph), w, 2); });
  }
};

TEST(InferShapes, InfersTheMoonsNetwork) {
  Moons moons;
  Shapes shapes;
  ASSERT_THAT(InferShapes(moons.graph, {moons.loss.id}, shapes), IsOk());
  auto shape = [&](Tensor tensor) { return ToString(shapes.at(tensor.id)); };
  EXPECT_EQ(shape(moons.flat), "80,10|2");
  EXPECT_EQ(shape(moons.classes), "80,10|1");
  EXPECT_EQ(shape(moons.x), "10|2");
  EXPECT_EQ(shape(moons.w1), "2->16");
  EXPECT_EQ(shape(moons.b1), "16");
  EXPECT_EQ(shape(moons.hidden), "10|16");
  EXPECT_EQ(shape(moons.w2), "16->16");
  EXPECT_EQ(shape(moons.w3), "16->1");
  EXPECT_EQ(shape(moons.mlp), "10|1");
  EXPECT_EQ(shape(moons.loss), "1");
}

TEST(InferShapes, GivesAnInitialiserTheShapeOfItsParameter) {
  Moons moons;
  Shapes shapes;
  ASSERT_THAT(InferShapes(moons.graph, {moons.loss.id}, shapes), IsOk());
  int offsets = 0;
  for (TensorId id : TopologicalOrder(moons.graph, {moons.w1.id}, true)) {
    if (!std::holds_alternative<OffsetsSource>(moons.graph[id].source)) {
      continue;
    }
    ++offsets;
    EXPECT_EQ(ToString(shapes.at(id)), "2->16");
  }
  EXPECT_EQ(offsets, 1);
}

TEST(InferShapes, ANumberInitialisesAnyShape) {
  Graph graph;
  Tensor w = Param(graph, "w", WithOutput({3}), DType::kF32,
                   [](Tensor p) { return Number(*p.graph, 0.5); });
  Tensor computed = Param(graph, "v", WithOutput({3}), DType::kF32,
                          [](Tensor p) { return Number(*p.graph, 1) + 2; });
  EXPECT_EQ(ShapeIn(w, w), "3");
  EXPECT_EQ(ShapeIn(computed, computed), "3");
}

// Its tensor is not in the second inference.
TEST(InferShapes, ACapturedSizeIsUsedAgain) {
  Graph graph;
  const Tensor x = Zeros(graph, "x", "2|3");
  const Tensor size = EmbedDim(x, {RowKind::kBatch});
  Shapes shapes;
  const Tensor first = Einsum1("...|... => 0", x) / size;
  ASSERT_THAT(InferShapes(graph, {first.id}, shapes), IsOk());
  const Tensor second = Zeros(graph, "y", "4") * size;
  EXPECT_THAT(InferShapes(graph, {second.id}, shapes), IsOk());
}

TEST(InferShapes, ANumberFitsAnyRow) {
  Graph graph;
  Tensor b = Zeros(graph, "b", "");
  EXPECT_EQ(InferText(b + 1), "");
  EXPECT_EQ(InferText(Einsum1("=>", b + 1)), "");
  EXPECT_EQ(InferText(2 * b), "");
  Tensor w = Param(graph, "w", Exactly(""), DType::kF32, DefaultInit);
  EXPECT_EQ(InferText(w), "");
  // In a spec it has the axes that the spec gives it.
  Tensor x = Zeros(graph, "x", "2|3");
  EXPECT_EQ(InferText(Einsum("0; ...|i => ...|i", 2, x)), "2|3");
  EXPECT_EQ(InferText(Einsum("; ...|i => ...|i", 2, x)), "2|3");
  EXPECT_EQ(
      InferText(Einsum("...|0; ...|i => ...|i", 2, Zeros(graph, "y", "3"))),
      "3");
  EXPECT_EQ(InferText(Einsum1("...i => i", Number(graph, 2))), "1");
}

TEST(InferShapes, AResultHasWhatItsOperandsHave) {
  Graph graph;
  Tensor a = Zeros(graph, "a", "4,3");
  Tensor b = Zeros(graph, "b", "2|3");
  Tensor c = Zeros(graph, "c", "5->3");
  EXPECT_EQ(InferText(a + b), "2|4,3");
  EXPECT_EQ(InferText(b + a + c), "2|5->4,3");
  EXPECT_EQ(InferText(Select(Less(b, a), a, c)), "2|5->4,3");
  EXPECT_EQ(InferText(Relu(a)), "4,3");
  EXPECT_EQ(InferText(a + 1), "4,3");
  EXPECT_EQ(InferText(Number(graph, 2) / 3), "");
}

TEST(InferShapes, ComposeContractsInputWithOutput) {
  Graph graph;
  Tensor w = Zeros(graph, "w", "3->5");
  EXPECT_EQ(InferText(w * Zeros(graph, "x", "2|3")), "2|5");
  EXPECT_EQ(InferText(w * Zeros(graph, "v", "7->3")), "7->5");
  EXPECT_EQ(InferText(w * Zeros(graph, "u", "4|7->3")), "4|7->5");
  EXPECT_EQ(InferText(Zeros(graph, "t", "2|3->5") * Zeros(graph, "s", "3")),
            "2|5");
}

TEST(InferShapes, AParameterIsAsSpecificAsItsUses) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "10|3");
  Tensor y = Zeros(graph, "y", "10|4");
  Tensor w = Weights(graph, "w", {});
  Tensor b = Weights(graph, "b", {});
  Tensor difference = (w * x + b) - y;
  EXPECT_EQ(ShapeIn(difference, w), "3->4");
  EXPECT_EQ(ShapeIn(difference, b), "4");
}

TEST(InferShapes, AUseBeyondAClosedResultDoesNotReachTheParameter) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "10|3");
  Tensor w = Weights(graph, "w", {});
  Tensor b = Weights(graph, "b", WithOutput({4}));
  Tensor root = (w * x + b) - Zeros(graph, "y", "7,4");
  EXPECT_EQ(ShapeIn(root, root), "10|7,4");
  EXPECT_EQ(ShapeIn(root, w), "3->4");
}

TEST(InferShapes, AParameterUsedAtTwoSizesBroadcasts) {
  Graph graph;
  Tensor b = Weights(graph, "b", {});
  Tensor small = b + Zeros(graph, "x", "3");
  Tensor large = b + Zeros(graph, "y", "4");
  Tensor root = OuterSum("i; j => ij", small, large);
  EXPECT_EQ(ShapeIn(root, b), "1");
  EXPECT_EQ(ShapeIn(root, root), "3,4");
}

TEST(InferShapes, EquationsInferParameters) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "2|3,4");
  Tensor w = Weights(graph, "w", WithOutput({6}));
  Tensor y = Einsum("...|ij; ij->o => ...|o", x, w);
  EXPECT_EQ(ShapeIn(y, w), "3,4->6");
  EXPECT_EQ(ShapeIn(y, y), "2|6");
}

TEST(InferShapes, APositionSaysHowLongAnAxisIsAtLeast) {
  Graph graph;
  Tensor w = Weights(graph, "w", {});
  EXPECT_EQ(ShapeIn(Einsum1("2 => 0", w), w), "3");
}

TEST(InferShapes, ASumOverAnAxisBroadcastsBack) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "2|5");
  EXPECT_EQ(InferText(x / Einsum1("b|i => b|0", x)), "2|5");
}

TEST(InferShapes, ASliceTakesTheLeftmostBatchAxis) {
  Graph graph;
  int32_t n = graph.AddStatic("n", std::nullopt);
  EXPECT_EQ(InferText(Slice(Zeros(graph, "x", "5,2|3->4"), n)), "2|3->4");
  EXPECT_EQ(InferText(Slice(Relu(Zeros(graph, "y", "5,2|3")), n)), "2|3");
}

TEST(InferShapes, OpenDataTakesTheRestOfTheElements) {
  Graph graph;
  Tensor x = Data(graph, "x", NdArray(DType::kF32, {12}), WithOutput({3}));
  EXPECT_EQ(InferText(x), "4|3");
  Tensor one = Data(graph, "one", NdArray(DType::kF32, {3}), WithOutput({3}));
  EXPECT_EQ(InferText(one), "3");
  Tensor batch =
      Data(graph, "batch", NdArray(DType::kF32, {1, 3}), WithOutput({3}));
  EXPECT_EQ(InferText(batch), "1|3");
  int32_t n = graph.AddStatic("n", 4);
  EXPECT_EQ(ShapeIn(Slice(x, n), x), "4|3");
  Tensor ones =
      Data(graph, "ones", NdArray(DType::kF32, {4, 1, 3}), WithOutput({3}));
  EXPECT_EQ(InferText(Slice(ones, n)), "1|3");
}

// Its use says how many there are.
TEST(InferShapes, ARangeWithoutASpecThatItsDTypeDoesNotHold) {
  Graph graph;
  auto error = [&](DType dtype, int64_t cells) {
    Shape shape;
    shape[RowKind::kOutput] = {cells};
    const Tensor data =
        Data(graph, "d", NdArray(dtype, {cells}), SpecOf(shape));
    Shapes shapes;
    const Tensor sum = Offsets(graph, dtype) + data;
    return std::string(InferShapes(graph, {sum.id}, shapes).message());
  };
  EXPECT_EQ(error(DType::kU8, 256), "");
  EXPECT_THAT(error(DType::kU8, 257),
              HasSubstr("u8 does not hold 256, the last of the numbers"));
  EXPECT_EQ(error(DType::kU16, 257), "");
  EXPECT_THAT(error(DType::kF16, 70000), HasSubstr("f16 does not hold 69999"));
}

// The size of what has no part in the inference was checked with that.
TEST(InferShapes, ACapturedSizeOfAnotherInference) {
  Graph graph;
  const Tensor x = Zeros(graph, "x", "|3");
  const Tensor size = EmbedDim(x, {RowKind::kOutput});
  Shapes shapes;
  ASSERT_THAT(InferShapes(graph, {x.id}, shapes), IsOk());
  const Tensor sum = size + Range(graph, 2, DType::kU8);
  EXPECT_THAT(InferShapes(graph, {sum.id}, shapes), IsOk());
}

TEST(InferShapes, OffsetsOfNoUseAreScalar) {
  Graph graph;
  EXPECT_EQ(InferText(Offsets(graph, DType::kU32)), "");
  Tensor x = Zeros(graph, "x", "2|3");
  Tensor offsets = Offsets(graph, DType::kF32);
  EXPECT_EQ(ShapeIn(x + offsets, offsets), "2|3");
}

TEST(InferShapes, KeepsShapesThatAreThere) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "2|3");
  Tensor w = Weights(graph, "w", {});
  Tensor h = w * x;
  Shapes shapes;
  Tensor first = h + Zeros(graph, "y", "5");
  ASSERT_THAT(InferShapes(graph, {first.id}, shapes), IsOk());
  Shapes before = shapes;
  // Alone, this would make the output of w 7.
  Tensor second = h + Zeros(graph, "z", "7,5");
  ASSERT_THAT(InferShapes(graph, {second.id}, shapes), IsOk());
  for (const auto& [id, shape] : before) EXPECT_EQ(shapes.at(id), shape);
  EXPECT_EQ(ToString(shapes.at(second.id)), "2|7,5");
  EXPECT_EQ(ToString(shapes.at(w.id)), "3->5");
}

TEST(InferShapes, ChangesNothingOnAnError) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "3");
  Shapes shapes;
  ASSERT_THAT(InferShapes(graph, {x.id}, shapes), IsOk());
  Tensor good = x + x;
  Tensor bad = good + Zeros(graph, "y", "4");
  Shapes before = shapes;
  EXPECT_FALSE(InferShapes(graph, {good.id, bad.id}, shapes).ok());
  EXPECT_EQ(shapes.size(), before.size());
  EXPECT_EQ(shapes.at(x.id), before.at(x.id));
  EXPECT_THAT(InferShapes(graph, {good.id}, shapes), IsOk());
  EXPECT_EQ(ToString(shapes.at(good.id)), "3");
}

TEST(InferShapes, WindowsGoBothWays) {
  Graph graph;
  Tensor k = Zeros(graph, "k", "3");
  auto conv = [&](absl::string_view spec, Tensor x) {
    return Einsum(spec, x, k);
  };
  Tensor x = Zeros(graph, "x", "9");
  EXPECT_EQ(InferText(conv("2*o<+k; k => o", x)), "4");
  EXPECT_EQ(InferText(conv("o<+2*k; k => o", x)), "5");
  EXPECT_EQ(InferText(conv("3*o+k; k => o", x)), "3");
  // The array, from how many windows its use wants.
  for (auto [spec, size] :
       {std::pair("2*o<+k; k => o", "9"), std::pair("2*o=+k; k => o", "8"),
        std::pair("2*o<+1+k; k => o", "10")}) {
    Tensor w = Weights(graph, "w", {});
    EXPECT_EQ(ShapeIn(Zeros(graph, "y", "4") + conv(spec, w), w), size) << spec;
  }
  // The window, from the array and how many windows there are.
  Tensor v = Weights(graph, "v", {});
  Tensor windows = Einsum("2*o<+k, o; k => o", Zeros(graph, "z", "9,4"), v);
  EXPECT_EQ(ShapeIn(windows, v), "3");
}

TEST(InferShapes, PartsAddUp) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "5"), y = Zeros(graph, "y", "2");
  EXPECT_EQ(InferText(Concat("a; b => a^b", {x, y})), "7");
  EXPECT_EQ(InferText(Concat("a; b => a^b", {x, x})), "10");
  EXPECT_EQ(InferText(Einsum1("a^b => a", x)), "5");
  EXPECT_EQ(InferText(Einsum1("a^b => b", x)), "5");
  EXPECT_EQ(InferText(Einsum1("a => a^b", x)), "5");
  EXPECT_EQ(InferText(Einsum1("a^b => b", x) + y), "2");
  EXPECT_EQ(InferText(Einsum1("a => a^b", y) + x), "5");
  // A parameter is the part that is left.
  Tensor w = Weights(graph, "w", {});
  EXPECT_EQ(ShapeIn(Concat("a; b => a^b", {w, y}) + x, w), "3");
}

// What failed before, in construction or inference, is nobody else's business.
TEST(InferShapes, AnErrorLeavesTheGraphAndTheShapesUsable) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "3"), w = Weights(graph, "w", {});
  Shapes shapes;
  Tensor wrong_spec = Einsum1("i", x);
  EXPECT_FALSE(InferShapes(graph, {wrong_spec.id}, shapes).ok());
  EXPECT_FALSE(InferShapes(graph, {(wrong_spec + x).id}, shapes).ok());
  Tensor wrong_use = w * x + Zeros(graph, "y", "4") + Zeros(graph, "z", "5");
  EXPECT_FALSE(InferShapes(graph, {wrong_use.id}, shapes).ok());
  EXPECT_TRUE(shapes.empty());
  // The parameter takes the sizes of the use that is inferred.
  Tensor right = w * x + Zeros(graph, "v", "2");
  ASSERT_THAT(InferShapes(graph, {right.id}, shapes), IsOk());
  EXPECT_EQ(ToString(shapes.at(w.id)), "3->2");
  EXPECT_FALSE(InferShapes(graph, {wrong_use.id}, shapes).ok());
  EXPECT_EQ(ToString(shapes.at(w.id)), "3->2");
}

TEST(InferShapes, ConvolutionsInAChain) {
  Graph graph;
  Tensor h = Zeros(graph, "x", "2000");
  for (int i = 0; i < 100; ++i) {
    h = Einsum("o<+2*k; k => o", h, Zeros(graph, "k", "3"));
  }
  EXPECT_EQ(InferText(h), "1600");
}

TEST(InferShapes, ARangeThatItsDTypeDoesNotHoldIsAnError) {
  Graph graph;
  Shapes shapes;
  const Tensor held = Range(graph, 256, DType::kU8);
  EXPECT_TRUE(InferShapes(graph, {held.id}, shapes).ok());
  const Tensor range = Range(graph, 257, DType::kU8);
  EXPECT_EQ(
      InferShapes(graph, {(range + range).id}, shapes).message().substr(0, 24),
      "error in `range(257)` (i");
}

}  // namespace
}  // namespace ocannl
