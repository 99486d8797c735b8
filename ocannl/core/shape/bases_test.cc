// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/bases.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/shape/test_tensors.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

class BasesTest : public ::testing::Test {
 protected:
  // Data whose output axes have such bases.
  Tensor In(std::string name, absl::string_view shape,
            std::vector<std::string> bases) {
    ShapeSpec spec = Exactly(shape);
    spec.bases.Mutable()[static_cast<int>(RowKind::kOutput)] = std::move(bases);
    NdArray array(DType::kF32, ParseShape(shape).dims());
    return Data(graph_, std::move(name), std::move(array), spec, At(1));
  }

  // The shape of `tensor` after inference from `root`.
  static std::string Text(Tensor root, Tensor tensor) {
    Shapes shapes;
    absl::Status status = InferShapes(*root.graph, {root.id}, shapes);
    return status.ok() ? ToString(shapes, tensor.id)
                       : std::string(status.message());
  }
  static std::string Text(Tensor tensor) { return Text(tensor, tensor); }

  // What is different in an error of `root`.
  static std::string Conflict(Tensor root) {
    const std::string text = Text(root);
    const size_t start = text.find("different bases: ");
    return start == text.npos ? text
                              : text.substr(start, text.find('\n') - start);
  }

  Graph graph_;
  Tensor image_ = In("image", "7|8,3", {"", "rgb"});
  Tensor color_ = In("color", "3", {"rgb"});
  Tensor plain_ = Zeros(graph_, "plain", "3");
};

TEST_F(BasesTest, GoWithTheirAxes) {
  EXPECT_EQ(Text(image_ + color_), "7|8,3 rgb");
  EXPECT_EQ(Text(Einsum1("...|xc => ...|cx", image_)), "7|3 rgb,8");
  EXPECT_EQ(Text(Einsum1("...|..v..c => c|..v..", image_)), "3 rgb|8");
  Tensor w = Weights(graph_, "w", WithOutput({5}));
  EXPECT_EQ(Text(w * color_, w), "3 rgb->5");
  // A size of 1 that broadcasts is of any basis.
  EXPECT_EQ(Text(image_ + 1), "7|8,3 rgb");
  EXPECT_EQ(Text(image_ + Einsum1("...|...=>0", plain_)), "7|8,3 rgb");
}

TEST_F(BasesTest, DoNotMix) {
  const std::string mixed = Text(image_ + plain_);
  const int line = __LINE__ - 1;
  EXPECT_EQ(
      mixed,
      "shape error in `image + plain` (bases_test.cc:" + std::to_string(line) +
          "): different bases: axis 1 of the output row of `image + "
          "plain` is in rgb, axis 0 of the output row of plain in "
          "default\n  hint: give axes that go together one basis");
  Tensor hsv = In("hsv", "3", {"hsv"});
  EXPECT_EQ(Conflict(Einsum("...|xc; c => ...|x", image_, hsv)),
            "different bases: axis 1 of the output row of image is in rgb, "
            "axis 0 of the output row of hsv in hsv");
  // A given size of 1 has a basis, too.
  EXPECT_EQ(Conflict(In("one", "1", {"rgb"}) + Zeros(graph_, "one_plain", "1")),
            "different bases: axis 0 of the output row of `one + one_plain` is "
            "in rgb, axis 0 of the output row of one_plain in default");
  EXPECT_EQ(Conflict(Concat("a; b => a^b", {color_, plain_})),
            "different bases: axis 0 of the output row of plain is in default, "
            "axis 0 of the output row of `color ++^ \"a; b => a^b\" plain` in "
            "rgb");
  EXPECT_EQ(Conflict(Einsum("o<+k; k => o", In("line", "9", {"px"}), plain_)),
            "different bases: axis 0 of the output row of line is in px, axis "
            "0 of the output row of plain in default");
}

TEST_F(BasesTest, AreKeptForLaterInferences) {
  Shapes shapes;
  Tensor w = Weights(graph_, "w", WithOutput({3}));
  Tensor mixed = w * color_;
  ASSERT_THAT(InferShapes(graph_, {mixed.id}, shapes), IsOk());
  EXPECT_EQ(ToString(shapes, w.id), "3 rgb->3");
  EXPECT_FALSE(InferShapes(graph_, {(w * plain_).id}, shapes).ok());
  EXPECT_THAT(InferShapes(graph_, {(w * color_).id}, shapes), IsOk());
  // The output of the product is of the default basis, as w says.
  EXPECT_THAT(InferShapes(graph_, {(mixed + plain_).id}, shapes), IsOk());
  EXPECT_FALSE(InferShapes(graph_, {(mixed + color_).id}, shapes).ok());
}

}  // namespace
}  // namespace ocannl
