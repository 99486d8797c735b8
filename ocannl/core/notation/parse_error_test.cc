// SPDX-License-Identifier: Apache-2.0
//
// Every message of the notation, with the text that gives it.
#include <initializer_list>
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

  struct Case {
    absl::string_view text;
    int column;  // of the only line
    absl::string_view message;
  };
  void ExpectErrors(std::initializer_list<Case> cases) {
    for (const auto& [text, column, message] : cases) {
      EXPECT_EQ(Error(text),
                absl::StrCat("line 1, column ", column, ": ", message));
    }
  }

  Graph graph_;
  Names names_;
};

TEST_F(ParseErrorTest, Operands) {
  ExpectErrors({
      {"", 1, "expected an operand, found the end of the text"},
      {"x +", 4, "expected an operand, found the end of the text"},
      {"\"x y\"", 1, "expected an operand, found `x y`"},
      {"relu *. x", 1,
       "`relu` takes 1 argument, but it was given 0; write relu(a)"},
      {"/* x", 1, "expected an operand, found a comment without `*/`"},
  });
  EXPECT_THAT(Error("x +. y"), HasSubstr("write x + y; sums and differences"));
  EXPECT_THAT(Error("x y"), HasSubstr("found `y`; an operator is missing"));
  EXPECT_THAT(Error("relu(x y)"), HasSubstr("found `y`; an operator is"));
  EXPECT_THAT(Error("{w = 1 2}"), HasSubstr("found `2`; an operator is"));
  EXPECT_EQ(Error("x +\n  * y"),
            "line 2, column 3: expected an operand, found `*`");
}

TEST_F(ParseErrorTest, Names) {
  ExpectErrors({
      {"1 - margn", 5,
       "no tensor `margn`; near names: margin; put it into the names, or "
       "declare a parameter: {margn}"},
      {"qqq + 1", 1,
       "no tensor `qqq`; put it into the names, or declare a parameter: {qqq}"},
      {"rellu(x)", 1,
       "no function `rellu`; near names: relu, gelu; the operations are in "
       "ocannl/core/ops/ops.def"},
      {"detach_gradient x", 1,
       "no function `detach_gradient`; it is `stop_gradient(x)`"},
      {"x *. step", 6, "`step` is a static index; write !@step"},
      {"x *. lr", 6, "`lr` is a number; write !.lr"},
      {"x @| stap", 6,
       "no static index `stap`; near names: step; add it to the graph"},
      {"x @| batch", 6, "no static index `batch`; add it to the graph"},
      {"x @| 3", 6, "expected the name of a static index, found `3`"},
      {"!@ lr", 4, "no static index `lr`; add it to the graph"},
      {"!.lt", 3, "no number `lt`; near names: lr; put it into the names"},
      {"!.momentum", 3, "no number `momentum`; put it into the names"},
      {"!.0.5", 3, "expected the name of a number, found `0.5`"},
      {"!..rate", 4,
       "`rate` is 2.50000001, where a whole number must stand; give it one"},
      {"!..huge", 4,
       "`huge` is 1e+30, where a whole number must stand; give it one"},
      {"p + {p}", 1,
       "no tensor `p`; put it into the names, or declare a parameter: {p}"},
  });
}

TEST_F(ParseErrorTest, Functions) {
  ExpectErrors({
      {"max(x)", 1,
       "`max` takes 2 arguments, but it was given 1; write max(a, b); the "
       "greatest is written `x @^^ \"ij => i\"`, that of all cells `x @^^ "
       "\"...|...->... => 0\"`"},
      {"max x", 1,
       "`max` takes 2 arguments, but it was given 1; write max(a, b); the "
       "greatest is written `x @^^ \"ij => i\"`, that of all cells `x @^^ "
       "\"...|...->... => 0\"`"},
      {"relu(x, y)", 1,
       "`relu` takes 1 argument, but it was given 2; write relu(a)"},
      {"relu()", 1,
       "`relu` takes 1 argument, but it was given 0; write relu(a)"},
      {"fma(x, y)", 1,
       "`fma` takes 3 arguments, but it was given 2; write fma(a, b, c)"},
      {"uniform1(x)", 1,
       "`uniform1` takes 0 arguments, but it was given 1; write uniform1()"},
      {"argmax(x)", 1,
       "`argmax` takes a spec in quotes first; write argmax(\"..., i\", a)"},
      {"relu(\"i\", x)", 1, "`relu` takes no spec; write relu(a)"},
      {"range(x)", 1, "argument 1 is a whole number, but it was given x"},
      {"max(x, y", 9,
       "expected an operator, `,` or `)`, found the end of the text"},
      {"max(x; y)", 6, "expected an operator, `,` or `)`, found `;`"},
      {"max(x, )", 8, "expected an operand, found `)`"},
      {"relu(x,)", 8, "expected an operand, found `)`"},
      {"kaiming(uniform1())", 1,
       "`kaiming` scales by the sizes of a parameter; write it in the first "
       "value of one: {w = kaiming(uniform1())}"},
      {"{w = kaiming()}", 6,
       "`kaiming` takes 1 or 2 arguments, but it was given 0; write "
       "kaiming(a)"},
      {"{w = kaiming(normal(), x)}", 6,
       "the second argument of `kaiming` is its squared scale, a number, but "
       "it was given x"},
  });
}

TEST_F(ParseErrorTest, Specs) {
  ExpectErrors({
      {"2 + -x **. (x + 1)", 5,
       "a sign in front of `**.` can be read in two ways; write (-x) **. (x + "
       "1) or -(x **. (x + 1))"},
      {"-2:f64 **. x", 1,
       "a sign in front of `**.` can be read in two ways; write (-2:f64) **. x "
       "or -(2:f64 **. x)"},
      {"x +* y", 6,
       "expected the spec of `+*` in quotes, such as \"i; j => ij\", found "
       "`y`"},
      {"x ++ 0", 6,
       "expected the spec of `++` in quotes, such as \"...|... => 0\", found "
       "`0`"},
      {"x ++ \"i => i\" [\"i\" 3]", 20, "expected `=`, found `3`"},
      {"x ++ \"i => i\" [\"i\" = ]", 22, "expected an axis size, found `]`"},
      {"x ++ \"i => i\" [\"i\" = 3; j]", 25,
       "expected a name of the spec in quotes, such as \"i\", found `j`"},
      {"x ++ \"i => i\" [\"i\" = 3", 23,
       "expected `;` or `]`, found the end of the text"},
      {"x ++^ y", 7,
       "expected the spec of `++^` in quotes, such as \"a; b => a^b\", found "
       "`y`"},
      {"x ++^ \"i; j => i^j\"", 20,
       "expected an operand, found the end of the text"},
      {"x +++ \"i; j => ij\"", 19,
       "expected an operand, found the end of the text"},
      {"x ++ \"i => j", 6,
       "expected the spec of `++` in quotes, such as \"...|... => 0\", found a "
       "string without end"},
  });
  EXPECT_THAT(Error("x **. -x **. 2"), HasSubstr("write (-x) **. 2 or -(x"));
  EXPECT_THAT(Error("-relu x **. 2"), HasSubstr("(-relu x) **. 2 or -(relu x"));
  EXPECT_THAT(Error("x +* \"i; j\" y"),
              StartsWith("line 1, column 6: the spec \"i; j\" is wrong: "));
  EXPECT_THAT(
      Error("x ++ \"i; j => i\""),
      StartsWith("line 1, column 6: the spec \"i; j => i\" is wrong: "));
  EXPECT_THAT(Error("x ++ \"i => i\" [\"j\" = 3]"),
              StartsWith("line 1, column 16: the spec of `x ++ \"i => i\"` "));
  EXPECT_THAT(
      Error("x +* \"2*i+2; j => i\" y"),
      StartsWith("line 1, column 6: the spec \"2*i+2; j => i\" is wrong: "));
}

TEST_F(ParseErrorTest, Numbers) {
  ExpectErrors({
      {"x *. 1e40", 3,
       "error in `1e40` (net.cc:7): f32 does not hold 1e40; write f64(x), in "
       "C++ Convert(x, DType::kF64), or another number"},
      {"-1:u8", 1,
       "`-1` is not a number that u8 can hold; write -1:i64, or another "
       "number"},
      {"n + 1.5:i64", 5,
       "`1.5` is not a number that i64 can hold; write 1.5:f64, or another "
       "number"},
      {"9223372036854775808:i64", 1,
       "`9223372036854775808` is not a number that i64 can hold; write "
       "9223372036854775808:u64, or another number"},
      {"2:i65", 3,
       "expected a dtype, which is bool, u8, u16, i32, u32, i64, u64, f8e4m3, "
       "f8e5m2, bf16, f16, f32 or f64, found `i65`"},
      {"2:", 3,
       "expected a dtype, which is bool, u8, u16, i32, u32, i64, u64, f8e4m3, "
       "f8e5m2, bf16, f16, f32 or f64, found the end of the text"},
      {"[1, 2 3]", 7, "expected `,`, `;` or `]`, found `3`"},
  });
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
}

TEST_F(ParseErrorTest, Parameters) {
  ExpectErrors({
      {"{}", 2, "expected a parameter's name, found `}`"},
      {"{2}", 2, "expected a parameter's name, found `2`"},
      {"{relu}", 2, "`relu` is a function; give the parameter another name"},
      {"{w", 3, "expected `;` or `}`, found the end of the text"},
      {"{w, o=[2]}", 3, "expected `;` or `}`, found `,`"},
      {"{w; }", 5, "expected a row, i=[...] or o=[...], found `}`"},
      {"{w; k=[2]}", 5, "expected a row, i=[...] or o=[...], found `k`"},
      {"{w; o}", 6, "expected `=`, found `}`"},
      {"{w; o=2}", 7, "expected `[`, found `2`"},
      {"{w; o=[2}", 9, "expected `,` or `]`, found `}`"},
      {"{w; o=[0]}", 8, "an axis size is a whole number from 1 to 2^40"},
      {"{w; o=[2.5]}", 8, "an axis size is a whole number from 1 to 2^40"},
      {"{w; o=[-2]}", 8, "expected an axis size, found `-`"},
      {"{w; o=[99999999999999]}", 8,
       "an axis size is a whole number from 1 to 2^40"},
      {"{w; o=[hid]}", 8, "no number `hid`; put it into the names"},
      {"{w; o=[rate]}", 8,
       "`rate` is 2.50000001, where a whole number must stand; give it one"},
      {"{w; o=[2]; o=[2]}", 12, "the row `o` is given twice; write it once"},
      {"{w: f17}", 5,
       "expected a dtype, which is bool, u8, u16, i32, u32, i64, u64, f8e4m3, "
       "f8e5m2, bf16, f16, f32 or f64, found `f17`"},
  });
  EXPECT_THAT(Error("{w: half}"),
              EndsWith("found `half`; its name here is f16: `f16(x)`"));
  EXPECT_THAT(Error("{w; b=[2]}"),
              StartsWith("line 1, column 2: error in `w` (net.cc:7): a "
                         "parameter has no batch axes"));
}

TEST_F(ParseErrorTest, ParametersDeclaredAgain) {
  ExpectErrors({
      {"{w; o=[2]} + {w; o=[3]}", 15,
       "parameter `w` is declared again, with o=[3] where it had o=[2]; say it "
       "the first time and write {w} here"},
      {"{w} + {w; i=[3]}", 8,
       "parameter `w` is declared again, with i=[3] where it had no i; say it "
       "the first time and write {w} here"},
      {"{w} + {w = 1}", 8,
       "parameter `w` is declared again, with a first value; say it the first "
       "time and write {w} here"},
      {"{w: f32} + {w: f64}", 13,
       "parameter `w` is declared again, with f64 where it was f32; say it the "
       "first time and write {w} here"},
  });
}

TEST_F(ParseErrorTest, ParametersWithTheNameOfAGivenTensor) {
  EXPECT_EQ(Error("y + {x; o=[2]}"),
            "line 1, column 6: the names have a tensor `x` already; write x "
            "for it, or give the parameter another name");
}

TEST_F(ParseErrorTest, FirstValues) {
  ExpectErrors({
      {"{w = }", 6, "expected an operand, found `}`"},
      {"{w = 1 +; o=[2]}", 9, "expected an operand, found `;`"},
      {"{w = (1; o=[2]}", 16, "expected `;` or `}`, found the end of the text"},
  });
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
  ExpectErrors({
      {"let f a = f a in f x", 11,
       "no function `f`; the operations are in ocannl/core/ops/ops.def"},
      {"let f a b = a in f x", 18, "`f` takes 2 arguments; write f(a, b)"},
      {"let f a = a in f(x, x)", 16, "`f` takes 1 argument; write f(a)"},
      {"let f a a = a in x", 9, "two arguments are `a`; give one another name"},
      {"let a = 1", 10,
       "expected an operator or `in`, found the end of the text"},
  });
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
  ExpectErrors({
      {"(x", 3, "expected an operator or `)`, found the end of the text"},
      {"x)", 2, "expected an operator or the end of the text, found `)`"},
      {"(x]", 3, "expected an operator or `)`, found `]`"},
      {"(x, y]", 6, "expected an operator, `,`, `;` or `)`, found `]`"},
  });
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
