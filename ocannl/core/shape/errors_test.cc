// SPDX-License-Identifier: Apache-2.0
//
// Every message of a shape error, word for word.
#include "ocannl/core/shape/errors.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/shape/test_tensors.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/initializer.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ShapeErrorsTest : public ::testing::Test {
 protected:
  // An operand of an expression in line 42 of mlp.cc.
  static Arg In(Tensor tensor) { return Arg(tensor, At(42)); }

  Graph graph_;
  Tensor a_ = Zeros(graph_, "a", "3");
  Tensor b_ = Zeros(graph_, "b", "4");
  Tensor x_ = Zeros(graph_, "x", "28,28");
};

TEST_F(ShapeErrorsTest, ComposeOfDifferentRanks) {
  Tensor w1 = Weights(graph_, "w1", Exactly("784->128"));
  Tensor b1 = Weights(graph_, "b1", {});
  EXPECT_EQ(InferText(Add(In(Compose(In(w1), In(x_))), In(b1))),
            "shape error in `w1 * x` (mlp.cc:42): the input row of w1 is 784, "
            "the output row of x is 28,28\n"
            "  w1 : 784->128\n"
            "  x : 28,28\n"
            "  hint: flatten x, or declare w1 : 28,28->128");
}

TEST_F(ShapeErrorsTest, ComposeOfDifferentSizes) {
  Tensor w1 = Zeros(graph_, "w1", "784->128");
  EXPECT_EQ(InferText(Compose(In(w1), In(a_))),
            "shape error in `w1 * a` (mlp.cc:42): the input row of w1 is 784, "
            "the output row of a is 3\n"
            "  w1 : 784->128\n"
            "  a : 3");
}

TEST_F(ShapeErrorsTest, ComposeWhereAPointwiseProductIsMeant) {
  EXPECT_EQ(InferText(Compose(Arg(2, At(42)), In(a_))),
            "shape error in `2 * a` (mlp.cc:42): the input row of 2 is empty, "
            "the output row of a is 3\n"
            "  2 : \n"
            "  a : 3\n"
            "  hint: `*` multiplies tensors; `*.` is pointwise, PointMul in "
            "C++");
  EXPECT_EQ(InferText(Compose(In(Relu(In(a_))), In(a_))),
            "shape error in `relu(a) * a` (mlp.cc:42): the input row of "
            "`relu(a)` is empty, the output row of a is 3\n"
            "  `relu(a)` : 3\n"
            "  a : 3\n"
            "  from `relu(a)` (mlp.cc:42): the result\n"
            "  hint: `*` multiplies tensors; `*.` is pointwise, PointMul in "
            "C++");
}

TEST_F(ShapeErrorsTest, PointwiseOfDifferentSizes) {
  EXPECT_EQ(InferText(Add(In(Relu(In(a_))), In(b_))),
            "shape error in `relu(a) + b` (mlp.cc:42): the output row of "
            "`relu(a)` is 3, the output row of b is 4\n"
            "  `relu(a)` : 3\n"
            "  b : 4\n"
            "  from `relu(a)` (mlp.cc:42): the result");
}

TEST_F(ShapeErrorsTest, AGivenSizeOfOneDoesNotBroadcast) {
  Tensor one = Zeros(graph_, "one", "2|1");
  EXPECT_EQ(InferText(Add(In(a_), In(one))),
            "shape error in `a + one` (mlp.cc:42): the output row of a is 3, "
            "the output row of one is 1\n"
            "  a : 3\n"
            "  one : 2|1\n"
            "  hint: the size 1 of one is given, so it does not broadcast; "
            "leave that axis out, or let it broadcast: one ++ "
            "\"...|0 => ...|0\"");
}

TEST_F(ShapeErrorsTest, AResultThatItsUseContradicts) {
  Tensor doubled = Add(In(a_), In(a_));
  EXPECT_EQ(InferText(Einsum1("ij => 0", In(doubled))),
            "shape error in `a + a` (mlp.cc:42): the operands make its output "
            "row 3, but it is used as 1,3\n"
            "  from `(a + a) ++ \"ij => 0\"` (mlp.cc:42): operand 1");
  EXPECT_EQ(InferText(Einsum1(" => 0", In(doubled))),
            "shape error in `a + a` (mlp.cc:42): the output row of a is 3, but "
            "the result is used as empty\n"
            "  a : 3\n"
            "  from `(a + a) ++ \" => 0\"` (mlp.cc:42): operand 1");
  Tensor total = Einsum1("i => 0", In(a_));
  EXPECT_EQ(InferText(Einsum("i; i => i", In(total), In(b_))),
            "shape error in `(a ++ \"i => 0\") +* \"i; i => i\" b` "
            "(mlp.cc:42): axis `i` is 4 in b and 1 in `a ++ \"i => 0\"`\n"
            "  b : 4\n"
            "  `a ++ \"i => 0\"` : 1\n"
            "  from `a ++ \"i => 0\"` (mlp.cc:42): the result\n"
            "  hint: names of a spec do not broadcast; read the only cell of "
            "`a ++ \"i => 0\"`: \"0; i => i\"");
}

TEST_F(ShapeErrorsTest, ANameThatOnlyTheResultHas) {
  EXPECT_EQ(InferText(Einsum1("row, col => raw", In(x_))),
            "shape error in `x ++ \"row, col => raw\"` (mlp.cc:42): the result "
            "has `raw`, which no operand has; near names: row\n"
            "  x : 28,28\n"
            "  hint: give its size, as in [\"raw\" = 3] or SetDim, or write 0 "
            "for an axis of one cell");
  EXPECT_EQ(InferText(Einsum1("ij => ..v..", In(x_))),
            "shape error in `x ++ \"ij => ..v..\"` (mlp.cc:42): the result has "
            "`..v..`, which no operand has\n"
            "  x : 28,28\n"
            "  hint: give its size, as in [\"..v..\" = [2, 3]] or SetDims, or "
            "leave it out");
  EXPECT_THAT(InferText(Einsum1("i => i+k", In(a_))),
              HasSubstr("the result has `k`, which no operand has"));
  EXPECT_EQ(InferText(Einsum1("i => i...", In(a_))), "3");
  EXPECT_EQ(InferText(Einsum1("i => i_", In(a_))), "3,1");
  Tensor sized = Einsum1("i => ij", In(a_));
  EXPECT_THAT(SetDim(sized, "j", 1), IsOk());
  EXPECT_EQ(InferText(sized), "3,1");
  // Its use says how large it is.
  Tensor used = Einsum("ij; j => i", In(Einsum1("i => ij", In(a_))), In(b_));
  EXPECT_EQ(InferText(used), "3");
}

TEST_F(ShapeErrorsTest, EllipsesOfDifferentRanks) {
  Tensor y = Zeros(graph_, "y", "5,3,4");
  Tensor z = Zeros(graph_, "z", "1,2,3");
  Tensor m = Zeros(graph_, "m", "2,3");
  auto product = [&](Tensor left) {
    return InferText(Einsum("...ij; ...jk => ...ik", In(left), In(y)));
  };
  EXPECT_EQ(product(m),
            "shape error in `m +* \"...ij; ...jk => ...ik\" y` (mlp.cc:42): "
            "`...` stands for 1 axis in the output row of y and for another "
            "number elsewhere\n"
            "  y : 5,3,4\n"
            "  hint: the axes of `...` do not broadcast; write "
            "\"ij; njk => nik\"");
  EXPECT_THAT(product(z), HasSubstr("; write \"0ij; njk => nik\""));
  EXPECT_EQ(InferText(Einsum("0ij; njk => nik", In(z), In(y))), "5,2,4");
  // Names that the spec has are others; sizes that differ do not broadcast.
  EXPECT_THAT(InferText(Einsum("...n; ...m => n...m", In(a_), In(y))),
              HasSubstr("; write \"n; pqm => npqm\""));
  EXPECT_THAT(product(Zeros(graph_, "w", "7,5,2,3")),
              HasSubstr("; write \"nmij; mjk => nmik\""));
  EXPECT_THAT(product(Zeros(graph_, "w", "7,6,2,3")), Not(HasSubstr("hint")));
}

TEST_F(ShapeErrorsTest, EinsumOfDifferentSizes) {
  EXPECT_EQ(InferText(Einsum("i; i => 0", In(a_), In(b_))),
            "shape error in `a +* \"i; i => 0\" b` (mlp.cc:42): axis `i` is 4 "
            "in b and 3 in a\n"
            "  b : 4\n"
            "  a : 3");
  EXPECT_EQ(InferText(Einsum("...; ...i => i", In(a_), In(x_))),
            "shape error in `a +* \"...; ...i => i\" x` (mlp.cc:42): axis 0 of "
            "`...` is 28 in x and 3 in a\n"
            "  x : 28,28\n"
            "  a : 3");
}

TEST_F(ShapeErrorsTest, EinsumOfDifferentRanks) {
  EXPECT_EQ(InferText(Einsum1("ij => 0", In(a_))),
            "shape error in `a ++ \"ij => 0\"` (mlp.cc:42): the spec gives the "
            "output row of a 2 axes, but it has 1\n"
            "  a : 3");
  EXPECT_EQ(InferText(Einsum1("...ij => 0", In(a_))),
            "shape error in `a ++ \"...ij => 0\"` (mlp.cc:42): the spec gives "
            "the output row of a at least 2 axes, but it has 1\n"
            "  a : 3");
  EXPECT_EQ(InferText(Einsum("..v..; ..v.. => 0", In(a_), In(x_))),
            "shape error in `a +* \"..v..; ..v.. => 0\" x` (mlp.cc:42): "
            "`..v..` stands for 2 axes in the output row of x and for another "
            "number elsewhere\n"
            "  x : 28,28");
}

TEST_F(ShapeErrorsTest, CommasMakeLongNames) {
  EXPECT_EQ(InferText(Einsum("i,k; kj => ij", In(x_), In(x_))),
            "shape error in `x +* \"i,k; kj => ij\" x` (mlp.cc:42): the spec "
            "gives the output row of x 1 axis, but it has 2\n"
            "  x : 28,28\n"
            "  hint: as the spec has commas, `kj` is one axis; put commas "
            "between all axes");
  EXPECT_THAT(InferText(Einsum1("i,k => ik", In(x_))),
              HasSubstr("`ik` is one"));
  EXPECT_THAT(InferText(Einsum1("row,col => col", In(a_))),
              Not(HasSubstr("hint")));
}

TEST_F(ShapeErrorsTest, APositionBeyondTheEnd) {
  EXPECT_EQ(InferText(Einsum1("3 => 0", In(a_))),
            "shape error in `a ++ \"3 => 0\"` (mlp.cc:42): the spec names "
            "position 3, but axis 0 of the output row of a has size 3\n"
            "  a : 3");
}

TEST_F(ShapeErrorsTest, SlicesOfTooLittle) {
  int32_t n = graph_.AddStatic("n", 5);
  EXPECT_EQ(InferText(Slice(In(a_), n)),
            "shape error in `a @| n` (mlp.cc:42): the batch row of a has no "
            "axis to slice\n"
            "  a : 3");
  EXPECT_EQ(InferText(Slice(In(Zeros(graph_, "c", "4|3")), n)),
            "shape error in `c @| n` (mlp.cc:42): `n` has 5 values, but axis 0 "
            "of the batch row of c has size 4\n"
            "  c : 4|3");
  Tensor open =
      Data(graph_, "open", NdArray(DType::kF32, {12}), WithOutput({3}), At(9));
  EXPECT_EQ(InferText(Slice(In(open), n)),
            "shape error in `open` (mlp.cc:9): its batch row of 4 does not "
            "divide into the 5 values of `n`; change the range, or give the "
            "batch row");
}

TEST_F(ShapeErrorsTest, HiddenDimensions) {
  Tensor hidden = Relu(Weights(graph_, "w1", {}) * a_);
  EXPECT_EQ(InferText(Weights(graph_, "w2", {}) * hidden + b_),
            "You forgot to specify the hidden dimension(s) of `w1` (mlp.cc:2): "
            "nothing determines its output row; give it, such as "
            "{w1; o=[16]}");
  EXPECT_EQ(InferText(Einsum("i; i->o => o", a_, Weights(graph_, "w3", {}))),
            "You forgot to specify the hidden dimension(s) of `w3` (mlp.cc:2): "
            "nothing determines its output row; give it, such as "
            "{w3; o=[16]}");
}

TEST_F(ShapeErrorsTest, AFirstValueDoesNotDetermineHiddenDimensions) {
  auto kaiming = [](Tensor w) { return Kaiming(Uniform1(*w.graph), w, 6); };
  for (const Initializer& init :
       {Initializer(DefaultInit), Initializer(kaiming)}) {
    Tensor w1 = Param(graph_, "w1", {}, DType::kF32, init);
    Tensor w2 = Param(graph_, "w2", {}, DType::kF32, init);
    EXPECT_THAT(InferText(w2 * Relu(w1 * a_) + b_),
                StartsWith("You forgot to specify the hidden dimension(s)"));
    EXPECT_THAT(InferText(Einsum("i; i->o => o", a_, w1)),
                StartsWith("You forgot to specify the hidden dimension(s)"));
  }
}

TEST_F(ShapeErrorsTest, AFirstValueOfAnotherShape) {
  const char* message =
      "shape error in `w` (mlp.cc:3): a parameter and its first value have one "
      "shape\n"
      "  w : 2\n"
      "  a : 3";
  auto init = [&](Tensor) { return a_; };
  EXPECT_EQ(
      InferText(Param(graph_, "w", Exactly("2"), DType::kF32, init, At(3))),
      message);
  EXPECT_EQ(
      InferText(Param(graph_, "v", Exactly("1->3"), DType::kF32, init, At(3))),
      "shape error in `v` (mlp.cc:3): a parameter and its first value have one "
      "shape\n"
      "  v : 1->3\n"
      "  a : 3");
}

TEST_F(ShapeErrorsTest, RowsWithoutEnd) {
  Tensor w = Weights(graph_, "w", {});
  // Its outputs are one more than its inputs, which cover them.
  Tensor square = Compose(In(w), In(w));
  EXPECT_EQ(
      InferText(Einsum("..v..->..v..i; ...->... => 0", In(w), In(square))),
      "shape error in `w * w` (mlp.cc:42): rank cycle: the input row of w "
      "would need "
      "more axes than it has, without end\n"
      "  from `w +* \"..v..->..v..i; ...->... => 0\" (w * w)` (mlp.cc:42): "
      "operand 1");
}

TEST_F(ShapeErrorsTest, ARowThatContainsItself) {
  Tensor w = Weights(graph_, "w", {});
  EXPECT_EQ(InferText(Einsum("..v..; ..v..i => i", In(w), In(w))),
            "shape error in `w +* \"..v..; ..v..i => i\" w` (mlp.cc:42): rank "
            "cycle: the output row of w would need more axes than it has, "
            "without end\n"
            "  hint: it contains itself as `..v..`; give that another name in "
            "one place");
  Tensor h = Relu(In(Weights(graph_, "u", {})));
  Tensor same = Einsum1("..v..->..v.. => 0", In(h));
  EXPECT_EQ(InferText(Einsum("...; ..v..i->..v.. => ...", In(same), In(h))),
            "shape error in `(relu(u) ++ \"..v..->..v.. => 0\") +* \"...; "
            "..v..i->..v.. => ...\" relu(u)` (mlp.cc:42): rank cycle: the "
            "input row of "
            "`relu(u)` would need more axes than it has, without end\n"
            "  from `relu(u) ++ \"..v..->..v.. => 0\"` (mlp.cc:42): operand 1\n"
            "  from `relu(u)` (mlp.cc:42): the result\n"
            "  hint: it contains itself as `..v..`; give that another name in "
            "one place");
}

TEST_F(ShapeErrorsTest, OriginsAreListedNewestFirst) {
  Tensor w = Weights(graph_, "w", {});
  Tensor sum = Add(Arg(a_, At(1)), Arg(w, At(1)));
  for (int line = 2; line < 26; ++line) {
    sum = Add(Arg(sum, At(line)), Arg(w, At(line)));
  }
  const std::string text = InferText(Einsum("i; i => i", In(b_), In(w)) + sum);
  EXPECT_THAT(text, HasSubstr("  w : 4\n"
                              "  from `b +* \"i; i => i\" w` (mlp.cc:42): "
                              "operand 2\n"));
  size_t at = 0;
  for (const char* line :
       {":25): operand 2", ":24): ", ":7): ", "\n  and 5 more"}) {
    at = text.find(line, at);
    EXPECT_NE(at, std::string::npos) << line << " in " << text;
  }
  EXPECT_THAT(text, Not(HasSubstr(":5): ")));
}

TEST_F(ShapeErrorsTest, TheFirstOperationIsBlamed) {
  Tensor bad = Add(In(a_), In(b_));
  Tensor worse = Compose(In(bad), In(x_));
  EXPECT_EQ(InferText(Add(In(worse), In(a_))),
            "shape error in `a + b` (mlp.cc:42): the output row of a is 3, the "
            "output row of b is 4\n"
            "  a : 3\n"
            "  b : 4");
}

TEST_F(ShapeErrorsTest, AnErrorNodeSpeaksForItself) {
  Tensor bad = Named(Einsum1("i", In(a_)), "bad");
  EXPECT_EQ(InferText(Relu(bad) + 1),
            "error in `a ++ \"i\"` (mlp.cc:42): the spec \"i\" is wrong: it "
            "needs one `=>` between the operands and the result");
  EXPECT_EQ(InferText(a_ + 1), "3");
}

}  // namespace
}  // namespace ocannl
