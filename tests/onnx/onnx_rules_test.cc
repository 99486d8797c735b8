// SPDX-License-Identifier: Apache-2.0
//
// Nodes that the node tests of ONNX do not have, or only in later versions.
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/model.h"
#include "tests/onnx/run_case.h"
#include "tests/support/status_matchers.h"

namespace ocannl::onnx {
namespace {

using testing::ElementsAre;

constexpr int64_t kOpset = 17;

Attribute Text(std::string text) {
  Attribute attribute;
  attribute.text = std::move(text);
  return attribute;
}

Attribute Whole(int64_t whole) {
  Attribute attribute;
  attribute.whole = whole;
  return attribute;
}

Attribute Wholes(std::vector<int64_t> wholes) {
  Attribute attribute;
  attribute.wholes = std::move(wholes);
  return attribute;
}

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
  return {array.values<T>().begin(), array.values<T>().end()};
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
                 {{"ceil_mode", Whole(1)},
                  {"kernel_shape", Wholes({2})},
                  {"pads", Wholes({0, 1})},
                  {"strides", Wholes({3})}},
                 {Floats({1, 1, 3}, {1, 2, 3})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(2));
}

TEST(OnnxRulesTest, ReductionsOfNothing) {
  auto y = RunOp("ReduceProd", {{"axes", Wholes({1})}}, {Floats({2, 0}, {})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(1, 1));
  y = RunOp("ReduceSum", {{"axes", Wholes({1})}}, {Floats({2, 0}, {})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(0, 0));
  EXPECT_TRUE(absl::IsUnimplemented(
      RunOp("ReduceMax", {{"axes", Wholes({1})}}, {Floats({2, 0}, {})})
          .status()));
}

TEST(OnnxRulesTest, RemaindersByInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  auto y = RunOp("Mod", {{"fmod", Whole(1)}},
                 {Floats({2}, {-3, 5}), Floats({2}, {kInfinity, 3})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(-3, 2));
}

TEST(OnnxRulesTest, TheLastPartOfASplitMayBeSmaller) {
  const Node split = {.op = "Split",
                      .inputs = {"x"},
                      .outputs = {"a", "b"},
                      .attributes = {{"num_outputs", Whole(2)}}};
  auto y = RunNode(split, 18, {Floats({5}, {1, 2, 3, 4, 5})});
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(Values<float>((*y)[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Values<float>((*y)[1]), ElementsAre(4, 5));
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
      {"Pad", {{"mode", Text("wrap")}}, {image, Ids({1, 1, 1, 1, 1, 1, 1, 1})}},
      {"Resize",
       {{"antialias", Whole(1)}, {"mode", Text("linear")}},
       {image, none, Floats({4}, {1, 1, .5, .5})}},
      {"Resize", {}, {image, Floats({4}, {1, 1, 2, 2})}, 10},
      {"SpaceToDepth",
       {{"blocksize", Whole(2)}, {"mode", Text("CRD")}},
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
