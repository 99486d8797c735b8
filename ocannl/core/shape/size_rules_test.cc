// SPDX-License-Identifier: Apache-2.0
//
// What SetDim and SetEqual make of shapes.
#include "ocannl/core/shape/size_rules.h"

#include <string>

#include "gtest/gtest.h"
#include "ocannl/core/shape/test_tensors.h"
#include "ocannl/core/tensor/arrange.h"
#include "ocannl/core/tensor/dims.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

class SizeRulesTest : public ::testing::Test {
 protected:
  Tensor W(const char* name) { return Weights(graph_, name, {}); }

  static std::string Text(Tensor root, Tensor of) {
    Shapes shapes;
    absl::Status status = InferShapes(*root.graph, {root.id}, shapes);
    if (!status.ok()) return std::string(status.message());
    return ToString(shapes.at(of.id));
  }

  Graph graph_;
  Tensor a_ = Zeros(graph_, "a", "3"), b_ = Zeros(graph_, "b", "4,5");
};

TEST_F(SizeRulesTest, ADimensionIsSet) {
  Tensor w = W("w");
  Tensor y = Einsum("i; i->o => o", a_, w);
  EXPECT_THAT(SetDim(y, "o", 16), IsOk());
  EXPECT_EQ(Text(y, w), "3->16");
  EXPECT_THAT(SetDim(y, "i", 3), IsOk());
  EXPECT_EQ(Text(y, w), "3->16");
}

TEST_F(SizeRulesTest, ARowHasACount) {
  Tensor w = W("w"), v = W("v");
  Tensor y = Einsum("i; i->..v.. => ..v..", a_, w);
  EXPECT_THAT(SetDim(y, "..v..", 12), IsOk());
  EXPECT_EQ(Text(y, w), "3->12");
  Tensor z = Einsum("i; i->..v..,k => k", a_, v);
  EXPECT_THAT(SetDim(z, "..v..", 1), IsOk());
  EXPECT_THAT(SetDim(z, "k", 2), IsOk());
  EXPECT_EQ(Text(z, v), "3->2");
  // The axis that is left of a row.
  Tensor x = Einsum("..v..; ..v..,j => j", W("u"), Zeros(graph_, "c", "2,3,4"));
  EXPECT_THAT(SetDim(x, "..v..", 6), IsOk());
  EXPECT_EQ(InferText(x), "4");
}

TEST_F(SizeRulesTest, NamesAreEqual) {
  Tensor w = W("w"), v = W("v"), u = W("u");
  Tensor y = Einsum("i; i->o => o", a_, w);
  Tensor z = Einsum("..r..; ..r..->k => k", b_, v);
  EXPECT_THAT(SetEqual(y, "o", z, "k"), IsOk());
  EXPECT_THAT(SetDim(z, "k", 7), IsOk());
  // The other spec counts, though nothing else needs it.
  EXPECT_EQ(Text(y, w), "3->7");
  EXPECT_EQ(Text(z, v), "4,5->7");
  Tensor rows = Einsum("i; i->..s.. => ..s..", a_, u);
  EXPECT_THAT(SetEqual(rows, "..s..", z, "..r.."), IsOk());
  EXPECT_EQ(Text(rows, u), "3->4,5");
}

TEST_F(SizeRulesTest, ADimensionIsAsARow) {
  Tensor w = W("w");
  Tensor y = Einsum("i; i->o => o", a_, w);
  Tensor z = Einsum1("..r.. => ..r..", b_);
  EXPECT_THAT(SetEqual(y, "o", z, "..r.."), IsOk());
  EXPECT_EQ(Text(y, w), "3->20");
}

TEST_F(SizeRulesTest, PartsAreSet) {
  Tensor middle = Einsum1("a^b^c => b", Zeros(graph_, "x", "9"));
  EXPECT_THAT(SetDim(middle, "a", 2), IsOk());
  EXPECT_THAT(SetDim(middle, "c", 4), IsOk());
  EXPECT_EQ(InferText(middle), "3");
}

TEST_F(SizeRulesTest, CountsAfterAnEarlierInference) {
  Tensor y = Einsum1("i => i", a_);
  Shapes shapes;
  ASSERT_THAT(InferShapes(graph_, {y.id}, shapes), IsOk());
  Tensor w = W("w");
  Tensor v = Einsum("i; i->o => o", a_, w);
  EXPECT_THAT(SetEqual(v, "o", y, "i"), IsOk());
  ASSERT_THAT(InferShapes(graph_, {v.id}, shapes), IsOk());
  EXPECT_EQ(ToString(shapes.at(w.id)), "3->3");
}

TEST_F(SizeRulesTest, ADimensionIsAMultiple) {
  Tensor w = W("w"), v = W("v");
  Tensor y = Einsum("i; i->o => o", a_, w);
  EXPECT_THAT(SetScale(y, "o", 4, y, "i"), IsOk());
  EXPECT_EQ(Text(y, w), "3->12");
  // Of a name in another spec, and from the larger to the smaller.
  Tensor z = Einsum("i; i->o => o", Zeros(graph_, "c", "8"), v);
  EXPECT_THAT(SetScale(y, "o", 2, z, "o"), IsOk());
  EXPECT_EQ(Text(z, v), "8->6");
  Tensor x = Einsum("i; i->o => o", a_, W("u"));
  EXPECT_THAT(SetScale(x, "o", 1, x, "i"), IsOk());
  EXPECT_EQ(InferText(x), "3");
}

TEST_F(SizeRulesTest, ARowIsExact) {
  Tensor w = W("w");
  Tensor y = Einsum("i; i->..v.. => ..v..", a_, w);
  EXPECT_THAT(SetDims(y, "..v..", {2, 5}), IsOk());
  EXPECT_EQ(Text(y, w), "3->2,5");
  Tensor z = Einsum("i; i->..v..,k => k", a_, W("v"));
  EXPECT_THAT(SetDims(z, "..v..", {}), IsOk());
  EXPECT_THAT(SetDim(z, "k", 2), IsOk());
  EXPECT_EQ(Text(z, {&graph_, *graph_.Find("v")}), "3->2");
}

TEST_F(SizeRulesTest, ADimensionIsAtLeast) {
  Tensor w = W("w");
  Tensor y = Einsum("i; i->o => o", a_, w);
  EXPECT_THAT(SetAtLeast(y, "o", 5), IsOk());
  EXPECT_EQ(Text(y, w), "3->5");
  EXPECT_EQ(Text(y + Zeros(graph_, "c", "7"), w), "3->7");
  EXPECT_EQ(InferText(y + Zeros(graph_, "d", "4")),
            "shape error in `a +* \"i; i->o => o\" w` (size_rules_test.cc:" +
                std::to_string(y.node().where.line) +
                "): `o` is 4, but it is set to at least 5\n  a : 3\n  w : "
                "3->4\n  hint: leave one of the two out, or make them fit");
}

TEST_F(SizeRulesTest, SizesAreCaptured) {
  Tensor w = W("w");
  Tensor y = Einsum("..r..; ..r..->k => k", b_, w);
  EXPECT_THAT(SetDim(y, "k", 7), IsOk());
  Tensor r = EmbedDim(y, "..r.."), k = EmbedDim(y, "k");
  Tensor root = PointMul(y, r) + k;
  Shapes shapes;
  ASSERT_THAT(InferShapes(graph_, {root.id}, shapes), IsOk());
  EXPECT_EQ(shapes.names.at(y.id).at("..r.."), 20);
  EXPECT_EQ(shapes.names.at(y.id).at("k"), 7);
  // Also of a spec whose shapes are known already.
  Tensor z = Einsum1("2*i+j => i", Zeros(graph_, "c", "6"));
  ASSERT_THAT(InferShapes(graph_, {z.id}, shapes), IsOk());
  Tensor j = EmbedDim(z, "j"), i = EmbedDim(z, "i");
  ASSERT_THAT(InferShapes(graph_, {(i + j).id}, shapes), IsOk());
  EXPECT_EQ(shapes.names.at(z.id).at("i"), 3);
  EXPECT_EQ(shapes.names.at(z.id).at("j"), 1);
  Shapes later;
  EXPECT_EQ(InferText(EmbedDim(z, "k", At(9))),
            "the spec of `c ++ \"2*i+j => i\"` (size_rules_test.cc:" +
                std::to_string(z.node().where.line) +
                ") has no `k`; it has i, j");
}

TEST_F(SizeRulesTest, AStretchedTensorIsAsItsUses) {
  Tensor c = Zeros(graph_, "c", "2,3"), w = W("w");
  Tensor s = Stretch(a_);
  EXPECT_EQ(InferText(s), "3");
  EXPECT_EQ(Text(Einsum("ij; ij => i", s, c), s), "2,3");
  Tensor h = Relu(a_);
  EXPECT_EQ(Text(Stretch(h) + c, h), "3");
  // A parameter in it is none of its uses.
  Tensor t = Stretch(w);
  EXPECT_EQ(Text(Einsum("ij; ij => i", t, c), w), "2,3");
  // What the operand says of the axes that it has stays.
  const Tensor used = Einsum("ij; ij => i", Stretch(b_, At(8)), c);
  const int line = __LINE__ - 1;
  EXPECT_EQ(InferText(used),
            "shape error in `stretch(b)` (mlp.cc:8): the output row of b is "
            "4,5, but the result is used as 2,3\n  b : 4,5\n  from `"
            "stretch(b) +* \"ij; ij => i\" c` (size_rules_test.cc:" +
                std::to_string(line) + "): operand 1");
}

TEST_F(SizeRulesTest, SaysWhatDoesNotFit) {
  auto same = [&] { return Einsum1("..v..i => ..v..i", Arg(b_, At(42))); };
  const std::string start =
      "shape error in `b ++ \"..v..i => ..v..i\"` (mlp.cc:42): ";
  const std::string end =
      "\n  b : 4,5\n  hint: leave one of the two out, or make them fit";
  Tensor y = same();
  EXPECT_THAT(SetDim(y, "i", 6), IsOk());
  EXPECT_EQ(InferText(y), start + "`i` is 5, but it is set to 6" + end);
  Tensor z = same();
  EXPECT_THAT(SetDim(z, "..v..", 3), IsOk());
  EXPECT_EQ(InferText(z), start + "`..v..` is 4, but it is set to 3" + end);
  Tensor x = same();
  EXPECT_THAT(SetEqual(x, "i", x, "..v.."), IsOk());
  EXPECT_EQ(InferText(x), start +
                              "`..v..` is 4, but it is set equal to `i` of "
                              "`b ++ \"..v..i => ..v..i\"` (mlp.cc:42), "
                              "which is 5" +
                              end);
  Tensor u = same();
  Tensor t = Einsum1("..r.. => ..r..", Arg(b_, At(7)));
  EXPECT_THAT(SetEqual(u, "..v..", t, "..r.."), IsOk());
  EXPECT_EQ(InferText(u),
            start +
                "`..v..` is 4, but it is set equal to `..r..` of "
                "`b ++ \"..r.. => ..r..\"` (mlp.cc:7), which is 4,5" +
                end);
}

TEST_F(SizeRulesTest, SaysWhichNameThereIsNot) {
  Tensor y = Einsum1("..v.., 2*i, _ => ..v..", Arg(b_, At(42)));
  EXPECT_THAT(SetDim(y, "k", 6),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the spec of `b ++ \"..v.., 2*i, _ => ..v..\"` "
                       "(mlp.cc:42) has no `k`; it has i, ..v.."));
  EXPECT_THAT(SetDim(y, "i", 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "`i` of `b ++ \"..v.., 2*i, _ => ..v..\"` (mlp.cc:42) "
                       "cannot have 0 cells; give it a size from 1"));
  EXPECT_THAT(SetEqual(y, "i", a_, "i"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "`a` (mlp.cc:1) has no spec with a `i`; name an axis of "
                       "an einsum"));
  EXPECT_THAT(SetScale(y, "i", 0, y, "i"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "`i` of `b ++ \"..v.., 2*i, _ => ..v..\"` (mlp.cc:42) "
                       "cannot be 0 times `i`; give a factor from 1 to 65536"));
  EXPECT_THAT(SetAtLeast(y, "..v..", 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "`..v..` of `b ++ \"..v.., 2*i, _ => ..v..\"` "
                       "(mlp.cc:42) is a row variable; name an axis"));
  EXPECT_THAT(SetDims(y, "i", {2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "`i` of `b ++ \"..v.., 2*i, _ => ..v..\"` (mlp.cc:42) "
                       "is an axis; give it one size"));
  Tensor wrong = Einsum1("i", a_);
  EXPECT_THAT(SetDim(wrong, "i", 6), IsOk());
  EXPECT_THAT(SetEqual(y, "i", wrong, "i"), IsOk());
}

}  // namespace
}  // namespace ocannl
