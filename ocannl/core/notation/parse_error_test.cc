// SPDX-License-Identifier: Apache-2.0
//
// Every message of the notation, with the text that gives it.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ParseErrorTest : public ::testing::Test {
 protected:
  ParseErrorTest() {
    for (const char* name : {"x", "margin", "y"}) {
      names_.tensors.emplace(name, AddData(name, NdArray(DType::kF32, {2})));
    }
    names_.tensors.emplace("n", AddData("n", NdArray(DType::kI64, {2})));
    names_.statics.emplace("step", graph_.AddStatic("step_n", {}));
    names_.numbers = {{"lr", 0.1}, {"rate", 2.50000001}, {"huge", 1e30}};
  }

  Tensor AddData(const char* name, NdArray array) {
    ShapeSpec spec;
    spec[RowKind::kInput] = Dims();
    spec[RowKind::kBatch] = Dims();
    return Data(graph_, name, std::move(array), spec);
  }

  // The message; nothing may have happened to the graph.
  std::string Error(absl::string_view text) {
    int32_t size = graph_.size();
    absl::StatusOr<ParsedTensor> parsed =
        ParseTensor(graph_, text, names_, {.file = "net.cc", .line = 7});
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(graph_.size(), size) << text;
    return std::string(parsed.status().message());
  }

  Graph graph_;
  Names names_;
};

TEST_F(ParseErrorTest, Operands) {
  EXPECT_EQ(Error(""),
            "line 1, column 1: expected an operand, found the end of the text");
  EXPECT_EQ(Error("x +"),
            "line 1, column 4: expected an operand, found the end of the text");
  EXPECT_EQ(Error("x +\n  * y"),
            "line 2, column 3: expected an operand, found `*`");
  EXPECT_EQ(Error("x +. y"),
            "line 1, column 4: expected an operand, found a stray `.`");
  EXPECT_EQ(Error("x y"),
            "line 1, column 3: expected an operator or the end of the text, "
            "found `y`");
  EXPECT_EQ(Error("\"x y\""),
            "line 1, column 1: expected an operand, found `x y`");
  EXPECT_EQ(Error("relu -x"),
            "line 1, column 1: `relu` takes 1 argument, but it was given 0; "
            "write relu(a)");
  EXPECT_EQ(
      Error("/* x"),
      "line 1, column 1: expected an operand, found a comment without `*/`");
}

TEST_F(ParseErrorTest, Names) {
  EXPECT_EQ(Error("1 - margn"),
            "line 1, column 5: no tensor `margn`; near names: margin; put it "
            "into the names, or declare a parameter: {margn}");
  EXPECT_EQ(Error("qqq + 1"),
            "line 1, column 1: no tensor `qqq`; put it into the names, or "
            "declare a parameter: {qqq}");
  EXPECT_EQ(Error("rellu(x)"),
            "line 1, column 1: no function `rellu`; near names: relu, gelu; "
            "the operations are in ocannl/core/ops/ops.def");
  EXPECT_EQ(
      Error("detach_gradient x"),
      "line 1, column 1: no function `detach_gradient`; the operations are "
      "in ocannl/core/ops/ops.def");
  EXPECT_EQ(Error("x *. step"),
            "line 1, column 6: `step` is a static index; write !@step");
  EXPECT_EQ(Error("x *. lr"), "line 1, column 6: `lr` is a number; write !.lr");
  EXPECT_EQ(Error("x @| stap"),
            "line 1, column 6: no static index `stap`; near names: step; add "
            "it to the graph");
  EXPECT_EQ(Error("x @| batch"),
            "line 1, column 6: no static index `batch`; add it to the graph");
  EXPECT_EQ(Error("x @| 3"),
            "line 1, column 6: expected the name of a static index, found `3`");
  EXPECT_EQ(Error("!@ lr"),
            "line 1, column 4: no static index `lr`; add it to the graph");
  EXPECT_EQ(Error("!.lt"),
            "line 1, column 3: no number `lt`; near names: lr; put it into the "
            "names");
  EXPECT_EQ(Error("!.momentum"),
            "line 1, column 3: no number `momentum`; put it into the names");
  EXPECT_EQ(Error("!.0.5"),
            "line 1, column 3: expected the name of a number, found `0.5`");
  EXPECT_EQ(Error("!..rate"),
            "line 1, column 4: `rate` is 2.50000001, where a whole number must "
            "stand; give it one");
  EXPECT_EQ(Error("!..huge"),
            "line 1, column 4: `huge` is 1e+30, where a whole number must "
            "stand; give it one");
  EXPECT_EQ(Error("p + {p}"),
            "line 1, column 1: no tensor `p`; put it into the names, or "
            "declare a parameter: {p}");
}

TEST_F(ParseErrorTest, Functions) {
  EXPECT_EQ(Error("max(x)"),
            "line 1, column 1: `max` takes 2 arguments, but it was given 1; "
            "write max(a, b); the greatest is written x @^^ \"ij => i\", "
            "that of all cells x @^^ \"...|...->... => 0\"");
  EXPECT_EQ(Error("max x"),
            "line 1, column 1: `max` takes 2 arguments, but it was given 1; "
            "write max(a, b); the greatest is written x @^^ \"ij => i\", "
            "that of all cells x @^^ \"...|...->... => 0\"");
  EXPECT_EQ(Error("relu(x, y)"),
            "line 1, column 1: `relu` takes 1 argument, but it was given 2; "
            "write relu(a)");
  EXPECT_EQ(Error("relu()"),
            "line 1, column 1: `relu` takes 1 argument, but it was given 0; "
            "write relu(a)");
  EXPECT_EQ(Error("fma(x, y)"),
            "line 1, column 1: `fma` takes 3 arguments, but it was given 2; "
            "write fma(a, b, c)");
  EXPECT_EQ(Error("uniform1(x)"),
            "line 1, column 1: `uniform1` takes 0 arguments, but it was given "
            "1; write uniform1()");
  EXPECT_EQ(Error("argmax(x)"),
            "line 1, column 1: `argmax` takes a spec in quotes first; write "
            "argmax(\"..., i\", a)");
  EXPECT_EQ(Error("relu(\"i\", x)"),
            "line 1, column 1: `relu` takes no spec; write relu(a)");
  EXPECT_EQ(Error("range(x)"),
            "line 1, column 1: argument 1 is a whole number, but it was given "
            "x");
  EXPECT_EQ(Error("max(x, y"),
            "line 1, column 9: expected an operator, `,` or `)`, found the end "
            "of the text");
  EXPECT_EQ(Error("max(x; y)"),
            "line 1, column 6: expected an operator, `,` or `)`, found `;`");
  EXPECT_EQ(Error("max(x, )"),
            "line 1, column 8: expected an operand, found `)`");
  EXPECT_EQ(Error("relu(x,)"),
            "line 1, column 8: expected an operand, found `)`");
  EXPECT_EQ(Error("relu(x y)"),
            "line 1, column 8: expected an operator, `,` or `)`, found `y`");
  EXPECT_EQ(Error("kaiming(uniform1())"),
            "line 1, column 1: `kaiming` scales by the sizes of a parameter; "
            "write it in the first value of one: {w = kaiming(uniform1())}");
  EXPECT_EQ(Error("{w = kaiming()}"),
            "line 1, column 6: `kaiming` takes 1 or 2 arguments, but it was "
            "given 0; write kaiming(a)");
  EXPECT_EQ(Error("{w = kaiming(normal(), x)}"),
            "line 1, column 6: the second argument of `kaiming` is its squared "
            "scale, a number, but it was given x");
}

TEST_F(ParseErrorTest, Specs) {
  EXPECT_EQ(Error("2 + -x **. (x + 1)"),
            "line 1, column 5: a sign in front of `**.` can be read in two "
            "ways; write (-x) **. (x + 1) or -(x **. (x + 1))");
  EXPECT_EQ(Error("-2:f64 **. x"),
            "line 1, column 1: a sign in front of `**.` can be read in two "
            "ways; write (-2:f64) **. x or -(2:f64 **. x)");
  EXPECT_THAT(Error("x **. -x **. 2"), HasSubstr("write (-x) **. 2 or -(x"));
  EXPECT_THAT(Error("-relu x **. 2"), HasSubstr("(-relu x) **. 2 or -(relu x"));
  EXPECT_EQ(Error("x +* y"),
            "line 1, column 6: expected the spec of `+*` in quotes, such as "
            "\"i; j => ij\", found `y`");
  EXPECT_EQ(Error("x ++ 0"),
            "line 1, column 6: expected the spec of `++` in quotes, such as "
            "\"...|... => 0\", found `0`");
  EXPECT_THAT(Error("x +* \"i; j\" y"),
              StartsWith("line 1, column 6: the spec \"i; j\" is wrong: "));
  EXPECT_THAT(
      Error("x ++ \"i; j => i\""),
      StartsWith("line 1, column 6: the spec \"i; j => i\" is wrong: "));
  EXPECT_EQ(Error("x ++ \"i => i\" [\"i\" 3]"),
            "line 1, column 20: expected `=`, found `3`");
  EXPECT_EQ(Error("x ++ \"i => i\" [\"i\" = ]"),
            "line 1, column 22: expected an axis size, found `]`");
  EXPECT_EQ(Error("x ++ \"i => i\" [\"i\" = 3; j]"),
            "line 1, column 25: expected a name of the spec in quotes, such as "
            "\"i\", found `j`");
  EXPECT_EQ(
      Error("x ++ \"i => i\" [\"i\" = 3"),
      "line 1, column 23: expected `;` or `]`, found the end of the text");
  EXPECT_THAT(Error("x ++ \"i => i\" [\"j\" = 3]"),
              StartsWith("line 1, column 16: the spec of `x ++ \"i => i\"` "));
  EXPECT_EQ(Error("x ++^ y"),
            "line 1, column 7: expected the spec of `++^` in quotes, such as "
            "\"a; b => a^b\", found `y`");
  EXPECT_EQ(
      Error("x ++^ \"i; j => i^j\""),
      "line 1, column 20: expected an operand, found the end of the text");
  EXPECT_EQ(
      Error("x +++ \"i; j => ij\""),
      "line 1, column 19: expected an operand, found the end of the text");
  EXPECT_EQ(Error("x ++ \"i => j"),
            "line 1, column 6: expected the spec of `++` in quotes, such as "
            "\"...|... => 0\", found a string without end");
  EXPECT_THAT(
      Error("x +* \"2*i+2; j => i\" y"),
      StartsWith("line 1, column 6: the spec \"2*i+2; j => i\" is wrong: "));
}

TEST_F(ParseErrorTest, Numbers) {
  EXPECT_EQ(Error("x *. 1e40"),
            "line 1, column 6: `1e40` is not a number that f32 can hold; write "
            "another dtype, as in 2:i64, or another number");
  EXPECT_EQ(Error("-1:u8"),
            "line 1, column 1: `-1` is not a number that u8 can hold; write "
            "another dtype, as in 2:i64, or another number");
  EXPECT_EQ(Error("n + 1.5:i64"),
            "line 1, column 5: `1.5` is not a number that i64 can hold; write "
            "another dtype, as in 2:i64, or another number");
  EXPECT_EQ(Error("9007199254740993:i64"),
            "line 1, column 1: `9007199254740993` is beyond 2^53, where "
            "integers are not exact; pass it as data");
  EXPECT_EQ(Error("2:i65"),
            "line 1, column 3: expected a dtype, which is bool, u8, u16, i32, "
            "u32, i64, u64, f8e4m3, f8e5m2, bf16, f16, f32 or f64, found "
            "`i65`");
  EXPECT_EQ(Error("2:"),
            "line 1, column 3: expected a dtype, which is bool, u8, u16, i32, "
            "u32, i64, u64, f8e4m3, f8e5m2, bf16, f16, f32 or f64, found the "
            "end of the text");
  EXPECT_EQ(Error("[1, x]"),
            "line 1, column 5: expected a number or a bracket, as an array "
            "holds numbers only, found `x`");
}

TEST_F(ParseErrorTest, DTypes) {
  EXPECT_THAT(Error("x *. 2 + n"),
              StartsWith("line 1, column 8: error in `x *. 2 + n` (net.cc:7): "
                         "x *. 2 is f32 and n is i64; convert one of them: "
                         "f32(n), in C++ "));
  EXPECT_THAT(Error("relu n"),
              StartsWith("line 1, column 1: error in `relu(n)` (net.cc:7): "
                         "`relu` takes floats of one type"));
  EXPECT_THAT(
      Error("select(x, x, x)"),
      StartsWith("line 1, column 1: error in `select(x, x, x)` (net.cc:7): "
                 "`select` takes a bool and two operands of one type"));
  EXPECT_EQ(Error("bits_u64(x)"),
            "line 1, column 1: error in `bits_u64(x)` (net.cc:7): `bits_u64` "
            "takes a number and gives one of the same size, but it was given "
            "(f32); convert the operands");
  EXPECT_THAT(
      Error("(x < y) ++ \"...|... => 0\""),
      StartsWith("line 1, column 9: error in `(x < y) ++ \"...|... => 0\"` "
                 "(net.cc:7): a reduction takes numbers, not bool"));
}

TEST_F(ParseErrorTest, Parameters) {
  EXPECT_EQ(Error("{}"),
            "line 1, column 2: expected a parameter's name, found `}`");
  EXPECT_EQ(Error("{2}"),
            "line 1, column 2: expected a parameter's name, found `2`");
  EXPECT_EQ(Error("{relu}"),
            "line 1, column 2: `relu` is a function; give the parameter "
            "another name");
  EXPECT_EQ(Error("{w"),
            "line 1, column 3: expected `;` or `}`, found the end of the text");
  EXPECT_EQ(Error("{w, o=[2]}"),
            "line 1, column 3: expected `;` or `}`, found `,`");
  EXPECT_EQ(Error("{w; }"),
            "line 1, column 5: expected a row, i=[...] or o=[...], found `}`");
  EXPECT_EQ(Error("{w; k=[2]}"),
            "line 1, column 5: expected a row, i=[...] or o=[...], found `k`");
  EXPECT_EQ(Error("{w; o}"), "line 1, column 6: expected `=`, found `}`");
  EXPECT_EQ(Error("{w; o=2}"), "line 1, column 7: expected `[`, found `2`");
  EXPECT_EQ(Error("{w; o=[2}"),
            "line 1, column 9: expected `,` or `]`, found `}`");
  EXPECT_EQ(Error("{w; o=[0]}"),
            "line 1, column 8: an axis size is a whole number from 1 to 2^40");
  EXPECT_EQ(Error("{w; o=[2.5]}"),
            "line 1, column 8: an axis size is a whole number from 1 to 2^40");
  EXPECT_EQ(Error("{w; o=[-2]}"),
            "line 1, column 8: expected an axis size, found `-`");
  EXPECT_EQ(Error("{w; o=[99999999999999]}"),
            "line 1, column 8: an axis size is a whole number from 1 to 2^40");
  EXPECT_EQ(Error("{w; o=[hid]}"),
            "line 1, column 8: no number `hid`; put it into the names");
  EXPECT_EQ(Error("{w; o=[rate]}"),
            "line 1, column 8: `rate` is 2.50000001, where a whole number must "
            "stand; give it one");
  EXPECT_EQ(Error("{w; o=[2]; o=[2]}"),
            "line 1, column 12: the row `o` is given twice; write it once");
  EXPECT_THAT(Error("{w; b=[2]}"),
              StartsWith("line 1, column 2: error in `w` (net.cc:7): a "
                         "parameter has no batch axes"));
  EXPECT_EQ(Error("{w: f17}"),
            "line 1, column 5: expected a dtype, which is bool, u8, u16, i32, "
            "u32, i64, u64, f8e4m3, f8e5m2, bf16, f16, f32 or f64, found "
            "`f17`");
}

TEST_F(ParseErrorTest, ParametersDeclaredAgain) {
  EXPECT_EQ(Error("{w; o=[2]} + {w; o=[3]}"),
            "line 1, column 15: parameter `w` is declared again, with o=[3] "
            "where it had o=[2]; say it the first time and write {w} here");
  EXPECT_EQ(Error("{w} + {w; i=[3]}"),
            "line 1, column 8: parameter `w` is declared again, with i=[3] "
            "where it had no i; say it the first time and write {w} here");
  EXPECT_EQ(Error("{w} + {w = 1}"),
            "line 1, column 8: parameter `w` is declared again, with a first "
            "value; say it the first time and write {w} here");
  EXPECT_EQ(Error("{w: f32} + {w: f64}"),
            "line 1, column 13: parameter `w` is declared again, with f64 "
            "where it was f32; say it the first time and write {w} here");
}

TEST_F(ParseErrorTest, ParametersWithTheNameOfAGivenTensor) {
  EXPECT_EQ(Error("y + {x; o=[2]}"),
            "line 1, column 6: the names have a tensor `x` already; write x "
            "for it, or give the parameter another name");
}

TEST_F(ParseErrorTest, FirstValues) {
  EXPECT_EQ(Error("{w = }"),
            "line 1, column 6: expected an operand, found `}`");
  EXPECT_EQ(Error("{w = 1 +; o=[2]}"),
            "line 1, column 9: expected an operand, found `;`");
  EXPECT_EQ(Error("{w = 1 2; o=[2]}"),
            "line 1, column 8: expected an operator, `;` or `}`, found `2`");
  EXPECT_EQ(
      Error("{w = (1; o=[2]}"),
      "line 1, column 16: expected `;` or `}`, found the end of the text");
  EXPECT_THAT(Error("{w = {v} + 1}"),
              StartsWith("line 1, column 2: error in `w` (net.cc:7): its first "
                         "value depends on a parameter"));
  EXPECT_THAT(Error("{w = w}"),
              StartsWith("line 1, column 2: error in `w` (net.cc:7): its first "
                         "value depends on a parameter"));
  EXPECT_THAT(
      Error("{w: f64 = x}"),
      StartsWith("line 1, column 2: error in `w` (net.cc:7): it is f64"));
  EXPECT_THAT(Error("{w = x + n}"),
              StartsWith("line 1, column 8: error in `x + n` (net.cc:7): x is "
                         "f32 and n is i64"));
}

TEST_F(ParseErrorTest, Lets) {
  EXPECT_EQ(Error("let f a = f a in f x"),
            "line 1, column 11: no function `f`; the operations are in "
            "ocannl/core/ops/ops.def");
  EXPECT_EQ(Error("let f a b = a in f x"),
            "line 1, column 18: `f` takes 2 arguments; write f(a, b)");
  EXPECT_EQ(Error("let f a = a in f(x, x)"),
            "line 1, column 16: `f` takes 1 argument; write f(a)");
  EXPECT_EQ(Error("let f a a = a in x"),
            "line 1, column 9: two arguments are `a`; give one another name");
  EXPECT_EQ(Error("let x = 1 in x"),
            "line 1, column 5: there is a `x` already; take another name");
  EXPECT_EQ(Error("let a = 1"),
            "line 1, column 10: expected an operator or `in`, found the end "
            "of the text");
  EXPECT_THAT(Error("let f a = a + in f x"),
              HasSubstr("line 1, column 15: no function `in`"));
  // A body is read once where nothing calls it.
  EXPECT_THAT(Error("let f a = a + q in x"), HasSubstr("`q`"));
  EXPECT_THAT(Error("let f a = a + ) in x"), HasSubstr("expected an operand"));
  EXPECT_THAT(Error("let f a = max(a) in x"), HasSubstr("2 arguments"));
  EXPECT_THAT(Error("let f a = a a in x"), HasSubstr("operator or `in`"));
  EXPECT_THAT(Error("let g b = b in let f a = g in x"),
              HasSubstr("`g` takes 1 argument"));
  EXPECT_THAT(Error("let f a = a ++ \"ij =>> i\" in x"), HasSubstr("=>>"));
  // A body knows its own arguments, not those of its caller.
  EXPECT_THAT(Error("let f a = b in let g b = f b in g x"),
              HasSubstr("line 1, column 11: no tensor `b`"));
  std::string doubled = "let g0 a = a in ";
  for (int k = 1; k < 20; ++k) {
    doubled +=
        absl::StrCat("let g", k, " a = g", k - 1, " (g", k - 1, " a) in ");
  }
  EXPECT_THAT(Error(doubled + "g19 x"), HasSubstr("10000 operations"));
}

TEST_F(ParseErrorTest, Nesting) {
  const std::string deep =
      "the expression is nested too deeply; make a part of it a tensor of its "
      "own";
  EXPECT_EQ(Error("(x"),
            "line 1, column 3: expected an operator or `)`, found the end of "
            "the text");
  EXPECT_EQ(Error("x)"),
            "line 1, column 2: expected an operator or the end of the text, "
            "found `)`");
  EXPECT_EQ(Error("(x]"),
            "line 1, column 3: expected an operator or `)`, found `]`");
  EXPECT_EQ(Error("(x, y)"),
            "line 1, column 2: expected a number or a bracket, as an array "
            "holds numbers only, found `x`");
  EXPECT_EQ(Error(std::string(1000, '(')), "line 1, column 202: " + deep);
  EXPECT_EQ(Error(std::string(1000, '-')), "line 1, column 202: " + deep);
  auto repeat = [](const char* text) {
    return absl::StrReplaceAll(std::string(1000, '.'), {{".", text}});
  };
  EXPECT_THAT(Error(repeat("relu ")), EndsWith(deep));
  EXPECT_THAT(Error(repeat("x **. ")), EndsWith(deep));
  EXPECT_THAT(Error(repeat("max(x, ")), EndsWith(deep));
  EXPECT_THAT(Error(repeat("{w = ") + "1" + repeat("}")), EndsWith(deep));
  EXPECT_EQ(Error(repeat("{w = ")),
            "line 1, column 5001: expected `;` or `}`, found the end of the "
            "text");
}

TEST_F(ParseErrorTest, TheGraphStaysAsItWas) {
  Graph untouched = graph_;
  Error("{w; o=[2]} + {w; o=[3]}");
  Error("x + {w = normal()} + n");
  EXPECT_FALSE(graph_.Find("w"));
  EXPECT_EQ(graph_.NextRandom(), untouched.NextRandom());
}

TEST_F(ParseErrorTest, NamesAreOfTheGraphOfTheText) {
  Graph other;
  names_.tensors.emplace("far", Range(other, 2, DType::kF32, {"far.cc", 3}));
  EXPECT_EQ(Error("x + far"),
            "the name `far` stands for `range(2)` (far.cc:3), a tensor of "
            "another graph; make that in the graph of the text");
}

}  // namespace
}  // namespace ocannl
