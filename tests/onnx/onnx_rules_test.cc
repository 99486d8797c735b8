// SPDX-License-Identifier: Apache-2.0
//
// Nodes that the node tests of ONNX do not have, or only in later versions.
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/rules/value.h"
#include "ocannl/onnx/write.h"
#include "tests/onnx/float_info.h"
#include "tests/onnx/run_case.h"
#include "tests/support/status_matchers.h"

namespace ocannl::onnx {
namespace {

using testing::ElementsAre;

constexpr int64_t kOpset = 17;

using Attributes = std::map<std::string, Attribute>;

absl::StatusOr<std::vector<NdArray>> RunOp(const std::string& op,
                                           Attributes attributes,
                                           std::vector<NdArray> inputs,
                                           int64_t opset = kOpset) {
  Node node = {.op = op,
               .inputs = {},
               .outputs = {"y"},
               .attributes = std::move(attributes)};
  for (size_t k = 0; k < inputs.size(); ++k) {
    node.inputs.push_back(absl::StrCat("x", k));
  }
  return RunNode(node, opset, std::move(inputs));
}

NdArray Floats(Dims dims, std::vector<float> values) {
  return NdArray::Of<float>(std::move(dims), values);
}

NdArray Ids(std::vector<int64_t> values) {
  return NdArray::Of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

template <class T>
std::vector<T> Values(const NdArray& array) {
  return std::vector<T>(array.values<T>().begin(), array.values<T>().end());
}

TEST(OnnxRulesTest, PadOfSomeAxes) {
  auto y = RunOp(
      "Pad", {},
      {Floats({2, 2}, {1, 2, 3, 4}), Ids({1, 2}), Floats({}, {9}), Ids({-1})});
  ASSERT_THAT(y, IsOk());
  EXPECT_EQ((*y)[0].dims(), (Dims{2, 5}));
  EXPECT_THAT(Values<float>((*y)[0]),
              ElementsAre(9, 1, 2, 9, 9, 9, 3, 4, 9, 9));
}

TEST(OnnxRulesTest, ConvIntegerHasAZeroPointForEachChannel) {
  auto y =
      RunOp("ConvInteger", {},
            {NdArray::Of<uint8_t>({1, 1, 1, 2}, {10, 20}),
             NdArray::Of<uint8_t>({2, 1, 1, 1}, {7, 9}),
             NdArray::Of<uint8_t>({}, {0}), NdArray::Of<uint8_t>({2}, {5, 8})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<int32_t>((*y)[0]), ElementsAre(20, 40, 10, 20));
}

TEST(OnnxRulesTest, NoWindowBeginsInThePaddingBehind) {
  auto y = RunOp("MaxPool",
                 {{"ceil_mode", WholeAttribute(1)},
                  {"kernel_shape", WholesAttribute({2})},
                  {"pads", WholesAttribute({0, 1})},
                  {"strides", WholesAttribute({3})}},
                 {Floats({1, 1, 3}, {1, 2, 3})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(2));
}

TEST(OnnxRulesTest, ReductionsOfNothing) {
  auto y = RunOp("ReduceProd", {{"axes", WholesAttribute({1})}},
                 {Floats({2, 0}, {})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(1, 1));
  y = RunOp("ReduceSum", {{"axes", WholesAttribute({1})}},
            {Floats({2, 0}, {})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(0, 0));
  EXPECT_TRUE(absl::IsUnimplemented(
      RunOp("ReduceMax", {{"axes", WholesAttribute({1})}}, {Floats({2, 0}, {})})
          .status()));
}

TEST(OnnxRulesTest, RemaindersByInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  auto y = RunOp("Mod", {{"fmod", WholeAttribute(1)}},
                 {Floats({2}, {-3, 5}), Floats({2}, {kInfinity, 3})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(-3, 2));
}

TEST(OnnxRulesTest, TheLastPartOfASplitMayBeSmaller) {
  const Node split = {.op = "Split",
                      .inputs = {"x"},
                      .outputs = {"a", "b"},
                      .attributes = {{"num_outputs", WholeAttribute(2)}}};
  auto y = RunNode(split, 18, {Floats({5}, {1, 2, 3, 4, 5})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Values<float>((*y)[1]), ElementsAre(4, 5));
}

TEST(OnnxRulesTest, APadMayHaveWholeWindows) {
  auto y = RunOp("Conv", {{"pads", WholesAttribute({1, 1})}},
                 {Floats({1, 1, 3}, {1, 2, 3}), Floats({1, 1, 1}, {2})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(0, 2, 4, 6, 0));
  auto pool = RunOp("AveragePool",
                    {{"kernel_shape", WholesAttribute({2})},
                     {"pads", WholesAttribute({0, 3})},
                     {"count_include_pad", WholeAttribute(1)}},
                    {Floats({1, 1, 3}, {2, 4, 6})});
  ASSERT_THAT(pool, IsOk());
  EXPECT_THAT(Values<float>((*pool)[0]), ElementsAre(3, 5, 3, 0, 0));
}

TEST(OnnxRulesTest, PadsRepeatWithoutEnd) {
  auto pad = [](const std::string& mode, std::vector<float> cells) {
    Dims dims = {static_cast<int64_t>(cells.size())};
    auto y = RunOp("Pad", {{"mode", TextAttribute(mode)}},
                   {Floats(dims, std::move(cells)), Ids({5, 6})}, 19);
    return y.ok() ? Values<float>((*y)[0]) : std::vector<float>();
  };
  EXPECT_THAT(pad("reflect", {1, 2, 3}),
              ElementsAre(2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(pad("wrap", {1, 2, 3}),
              ElementsAre(2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3));
  EXPECT_THAT(pad("reflect", {7}),
              testing::AllOf(testing::SizeIs(12), testing::Each(7)));
}

TEST(OnnxRulesTest, PadOfVersion2HasItsValue) {
  auto y = RunOp(
      "Pad",
      {{"pads", WholesAttribute({1, 0})}, {"value", NumberAttribute(1.5)}},
      {Floats({2}, {1, 2})}, 9);
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(1.5, 1, 2));
}

TEST(OnnxRulesTest, BoolsScatterAsBools) {
  const NdArray x = NdArray::Of<bool>({3}, {true, true, false});
  const NdArray updates = NdArray::Of<bool>({2}, {false, true});
  auto elements = RunOp("ScatterElements", {}, {x, Ids({0, -1}), updates});
  ASSERT_THAT(elements, IsOk());
  EXPECT_THAT(Values<bool>((*elements)[0]), ElementsAre(false, true, true));
  auto nd = RunOp("ScatterND", {},
                  {x, NdArray::Of<int64_t>({2, 1}, {0, -1}), updates});
  ASSERT_THAT(nd, IsOk());
  EXPECT_THAT(Values<bool>((*nd)[0]), ElementsAre(false, true, true));
}

TEST(OnnxRulesTest, DimsOf0Expand) {
  auto y = RunOp("Expand", {}, {Floats({1, 3}, {1, 2, 3}), Ids({0, 3})});
  ASSERT_THAT(y, IsOk());
  EXPECT_EQ((*y)[0].dims(), (Dims{0, 3}));
  Node node = {.op = "TopK", .inputs = {"x", "k"}, .outputs = {"v", "i"}};
  auto top = RunNode(node, kOpset, {Floats({3}, {1, 2, 3}), Ids({0})});
  ASSERT_THAT(top, IsOk());
  EXPECT_EQ((*top)[1].dtype(), DType::kI64);
}

TEST(OnnxRulesTest, LargeWholesKeepTheirLastDigit) {
  constexpr int64_t kLarge = (int64_t{1} << 60) + 1;
  auto constant =
      RunOp("Constant", {{"value_int", WholeAttribute(kLarge)}}, {});
  ASSERT_THAT(constant, IsOk());
  EXPECT_THAT(Values<int64_t>((*constant)[0]), ElementsAre(kLarge));
  Attribute value = TensorAttribute(Ids({kLarge}));
  auto filled = RunOp("ConstantOfShape", {{"value", value}}, {Ids({2})});
  ASSERT_THAT(filled, IsOk());
  EXPECT_THAT(Values<int64_t>((*filled)[0]), ElementsAre(kLarge, kLarge));
}

TEST(OnnxRulesTest, HalvesAreNormalisedInF32) {
  const NdArray x =
      Converted(Floats({4}, {600, 1000, 1000, 1400}), DType::kF16);
  Node node = {.op = "LayerNormalization",
               .inputs = {"x", "s"},
               .outputs = {"y", "mean", "inverse"}};
  auto y = RunNode(node, kOpset,
                   {x, Converted(Floats({4}, {1, 1, 1, 1}), DType::kF16)});
  ASSERT_THAT(y, IsOk());
  EXPECT_EQ((*y)[0].dtype(), DType::kF16);
  EXPECT_NEAR((*y)[0].AsDouble(3), 1.4142, 1e-3);
  EXPECT_EQ((*y)[1].dtype(), DType::kF32);
  EXPECT_THAT(Values<float>((*y)[1]), ElementsAre(1000));
}

TEST(OnnxRulesTest, SquaresOfHalvesDoNotOverflow) {
  const NdArray x = Converted(Floats({1, 1, 2}, {300, 400}), DType::kF16);
  const NdArray one = Converted(Floats({1}, {1}), DType::kF16);
  struct Case {
    std::string op;
    std::vector<NdArray> inputs;
    double last;
  };
  for (const auto& [op, inputs, last] :
       {Case{"ReduceL2", {x}, 500}, Case{"LpNormalization", {x}, 0.8},
        Case{"InstanceNormalization",
             {Converted(Floats({1, 1, 2}, {100, 900}), DType::kF16), one, one},
             2}}) {
    auto y = RunOp(op, {}, inputs);
    ASSERT_THAT(y, IsOk()) << op;
    EXPECT_EQ((*y)[0].dtype(), DType::kF16);
    EXPECT_NEAR((*y)[0].AsDouble((*y)[0].size() - 1), last, 1e-3) << op;
  }
}

TEST(OnnxRulesTest, ANanStaysOne) {
  const NdArray x = Floats({2}, {std::nanf(""), 5});
  const NdArray one = Floats({}, {1});
  struct Case {
    std::string op;
    std::vector<NdArray> inputs;
    float last;
  };
  for (const auto& [op, inputs, last] :
       {Case{"Clip", {x, Floats({}, {0}), one}, 1}, Case{"Max", {x, one}, 5},
        Case{"Max", {one, x}, 5}, Case{"Min", {x, one}, 1},
        Case{"Min", {one, x}, 1}, Case{"Celu", {x}, 5},
        Case{"HardSigmoid", {x}, 1}, Case{"HardSwish", {x}, 5}}) {
    auto y = RunOp(op, {}, inputs);
    ASSERT_THAT(y, IsOk()) << op;
    EXPECT_TRUE(std::isnan((*y)[0].AsDouble(0))) << op;
    EXPECT_EQ((*y)[0].AsDouble(1), last) << op;
  }
  auto clip = RunOp("Clip", {{"max", NumberAttribute(1)}}, {x}, 6);
  ASSERT_THAT(clip, IsOk());
  EXPECT_TRUE(std::isnan((*clip)[0].AsDouble(0)));
}

TEST(OnnxRulesTest, LettersOfEinsumBroadcast) {
  auto y = RunOp("Einsum", {{"equation", TextAttribute("...i,...i->...i")}},
                 {Floats({1, 2}, {1, 2}), Floats({2, 1}, {3, 4})});
  ASSERT_THAT(y, IsOk());
  EXPECT_EQ((*y)[0].dims(), (Dims{2, 2}));
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(3, 6, 4, 8));
}

TEST(OnnxRulesTest, InfinitiesHaveALogSumExp) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  auto y = RunOp("ReduceLogSumExp", {{"axes", WholesAttribute({1})}},
                 {Floats({2, 2}, {-kInf, -kInf, kInf, 1})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(-kInf, kInf));
}

TEST(OnnxRulesTest, ResizeMeetsTiesAsTheSpecificationDoes) {
  const NdArray none = Floats({0}, {});
  auto y = RunOp("Resize", {{"nearest_mode", TextAttribute("floor")}},
                 {Floats({5}, {0, 1, 2, 3, 4}), none, Floats({1}, {0.6F})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(0, 2, 3));
  auto bytes =
      RunOp("Resize", {{"mode", TextAttribute("linear")}},
            {NdArray::Of<uint8_t>({2}, {10, 30}), none, Floats({1}, {2})});
  ASSERT_THAT(bytes, IsOk());
  EXPECT_THAT(Values<uint8_t>((*bytes)[0]), ElementsAre(10, 15, 25, 30));
}

TEST(OnnxRulesTest, WithoutSaturationLargeNumbersAreNotFinite) {
  const NdArray zero = Converted(Floats({}, {0}), DType::kF8E4M3);
  auto cell = [&](int64_t saturate) {
    auto y = RunOp("QuantizeLinear", {{"saturate", WholeAttribute(saturate)}},
                   {Floats({1}, {1000}), Floats({}, {1}), zero}, 19);
    return y.ok() ? (*y)[0].AsDouble(0) : 0;
  };
  EXPECT_EQ(cell(1), 448);
  EXPECT_TRUE(std::isnan(cell(0)));
}

TEST(OnnxRulesTest, TheHiddenSizeIsThatOfTheWeights) {
  auto y = RunOp("RNN", {},
                 {Floats({1, 1, 1}, {0}), Floats({1, 2, 1}, {1, 1}),
                  Floats({1, 2, 2}, {1, 1, 1, 1})});
  ASSERT_THAT(y, IsOk());
  EXPECT_EQ((*y)[0].dims(), (Dims{1, 1, 1, 2}));
}

TEST(OnnxRulesTest, DamagedNodesAreErrors) {
  struct Damaged {
    std::string op;
    Attributes attributes;
    std::vector<NdArray> inputs;
  };
  const NdArray row = Floats({3}, {1, 2, 3});
  const NdArray square = Floats({2, 2}, {1, 2, 3, 4});
  const NdArray none = Floats({0}, {});
  const NdArray image = Floats({1, 1, 2}, {1, 2});
  const std::vector<Damaged> all = {
      {"AveragePool", {}, {row}},
      {"BatchNormalization", {}, {row, row, row, row, row}},
      {"MaxUnpool",
       {{"kernel_shape", WholesAttribute({2, 2})}},
       {image, image}},
      {"MaxUnpool",
       {{"kernel_shape", WholesAttribute({2})}},
       {image, NdArray::Of<int64_t>({1, 1, 2}, {0, 1}), Ids({1})}},
      {"Dropout", {}, {row, none}},
      {"Resize", {}, {square, none, Floats({1}, {2})}},
      {"Resize", {}, {square, none, none, none}},
      {"Resize",
       {{"coordinate_transformation_mode", TextAttribute("tf_crop_and_resize")},
        {"mode", TextAttribute("linear")}},
       {square, none, Floats({2}, {2, 2})}},
      {"Resize", {}, {row, none, Floats({1}, {std::nanf("")})}},
      {"Tile", {}, {Floats({4}, {1, 2, 3, 4}), Ids({int64_t{1} << 62})}},
      {"Split", {}, {row, Ids({1})}},
      {"TopK", {}, {row, Ids({4})}},
      {"ReduceMean", {{"axes", WholesAttribute({0, -1})}}, {row}},
      {"Pad",
       {{"mode", TextAttribute("reflect")}},
       {row, Ids({1 << 27, 1 << 27})}},
      {"Unsqueeze", {}, {row, Ids({2, 2})}},
      {"MeanVarianceNormalization",
       {{"axes", WholesAttribute({0, 0})}},
       {image}},
      {"GatherND", {}, {row, NdArray(DType::kI64, {1, 0})}},
      {"LRN", {{"size", WholeAttribute(-1)}}, {image}}};
  for (const Damaged& one : all) {
    const absl::Status status =
        RunOp(one.op, one.attributes, one.inputs).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << one.op << ": " << status;
  }
}

TEST(OnnxRulesTest, WhatARuleDoesNotKnowIsUnsupported) {
  struct Unknown {
    std::string op;
    Attributes attributes;
    std::vector<NdArray> inputs;
    int64_t opset = kOpset;
  };
  const NdArray image = Floats({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const NdArray none = Floats({0}, {});
  const NdArray scale = Floats({}, {1});
  const NdArray bytes = NdArray::Of<uint8_t>({1, 1, 1, 2}, {1, 2});
  const NdArray zero = NdArray::Of<uint8_t>({}, {0});
  const std::vector<Unknown> all = {
      {"Pad",
       {{"mode", TextAttribute("cut")}},
       {image, Ids({1, 1, 1, 1, 1, 1, 1, 1})}},
      {"Resize",
       {{"antialias", WholeAttribute(1)}, {"mode", TextAttribute("linear")}},
       {image, none, Floats({4}, {1, 1, .5, .5})}},
      {"Resize", {}, {image, Floats({4}, {1, 1, 2, 2})}, 10},
      {"SpaceToDepth",
       {{"blocksize", WholeAttribute(2)}, {"mode", TextAttribute("CRD")}},
       {image}},
      {"Mod", {}, {image, image}},
      {"PRelu", {}, {image, Floats({2}, {1, 2})}, 6},
      {"QLinearConv",
       {},
       {bytes, scale, zero, bytes, scale, zero, scale, zero,
        NdArray::Of<int32_t>({1}, {1})}},
      {"Nothing", {}, {image}},
  };
  for (const Unknown& one : all) {
    const absl::Status status =
        RunOp(one.op, one.attributes, one.inputs, one.opset).status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << one.op << ": " << status;
  }
}

}  // namespace
}  // namespace ocannl::onnx
