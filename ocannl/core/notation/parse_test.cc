// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/parse.h"

#include <ctime>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/notation/test_structure.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ParseTest : public ::testing::Test {
 protected:
  ParseTest() {
    for (const char* name : {"a", "b", "c", "x", "w"}) {
      names_.tensors.emplace(name, AddData(name, NdArray(DType::kF32, {2, 2})));
    }
    names_.tensors.emplace("n", AddData("ints", NdArray(DType::kI64, {2, 2})));
    AddData("graph_only", NdArray(DType::kF32, {2, 2}));
    graph_.AddStatic("batch_n", 4);
    names_.statics.emplace("step", graph_.AddStatic("step_n", {}));
    names_.numbers = {{"lr", 0.1}, {"steps", 10}, {"hid", 16}};
  }

  Tensor AddData(const char* name, NdArray array) {
    ShapeSpec spec;
    spec[RowKind::kInput] = Dims();
    spec[RowKind::kOutput] = Dims{2};
    return Data(graph_, name, std::move(array), spec);
  }

  std::string Read(absl::string_view text) {
    absl::StatusOr<ParsedTensor> parsed = ParseTensor(graph_, text, names_);
    if (!parsed.ok()) return std::string(parsed.status().message());
    parameters_ = parsed->parameters;
    return Structure(graph_, parsed->tensor.id);
  }

  std::vector<std::string> ParameterNames() const {
    std::vector<std::string> names;
    for (Tensor parameter : parameters_) names.push_back(parameter.node().name);
    return names;
  }

  // The structure of the first value of the parameter that was read last.
  std::string FirstValue() const {
    const auto& source =
        std::get<ParamSource>(parameters_.back().node().source);
    return Structure(graph_, source.init.value());
  }

  Graph graph_;
  Names names_;
  std::vector<Tensor> parameters_;
};

TEST_F(ParseTest, Operands) {
  EXPECT_EQ(Read("x"), "x");
  EXPECT_EQ(Read(" ( (x) ) # a comment"), "x");
  EXPECT_EQ(Read("graph_only"), "graph_only");
  EXPECT_EQ(Read("n"), "ints");
  EXPECT_EQ(Read("0.1"), "0.1");
  EXPECT_EQ(Read("1e-4"), "0.0001");
  EXPECT_EQ(Read("2."), "2");
  EXPECT_EQ(Read("-2"), "-2");
  EXPECT_EQ(Read("- -inf"), "Neg(Neg(inf))");
  EXPECT_EQ(Read("nan"), "nan");
  EXPECT_EQ(Read("2:i64"), "Convert_i64(2)");
  EXPECT_EQ(Read("0xff:u8"), "Convert_u8(255)");
  EXPECT_EQ(Read("!.lr"), "0.1");
  EXPECT_EQ(Read("!..steps"), "10");
  EXPECT_EQ(Read("!@step"), "!@step_n");
  EXPECT_EQ(Read("!@batch_n"), "!@batch_n");
}

TEST_F(ParseTest, NumbersAdaptUnlessTheirDTypeIsGiven) {
  EXPECT_EQ(Read("n + 1"), "Add(ints, 1)");
  EXPECT_EQ(Read("n + 1:i64"), "Add(ints, Convert_i64(1))");
  EXPECT_THAT(Read("n + 1:i32"), HasSubstr("is i32"));
  absl::StatusOr<ParsedTensor> parsed =
      ParseTensor(graph_, "0.1 *. f64(x)", names_);
  ASSERT_TRUE(parsed.ok());
  const auto& product = std::get<ComputeSource>(parsed->tensor.node().source);
  const TensorNode& number = graph_[product.operands[0]];
  EXPECT_EQ(number.dtype, DType::kF64);
  EXPECT_EQ(std::get<NumberSource>(number.source).value, 0.1);
}

TEST_F(ParseTest, Arrays) {
  EXPECT_EQ(Read("[ (1,2,3);(4,5,6) ]"),
            "Data batch= output=2 input=3 1 2 3 4 5 6");
  EXPECT_EQ(Read("x + [1; 2]"), "Add(x, Data batch= output=2 input= 1 2)");
  EXPECT_EQ(Read("(1, 2) * (x)"),
            "Compose(Data batch= output= input=2 1 2, x)");
  EXPECT_EQ(Read("relu [|1; 2|]"), "Relu(Data batch=2 output= input= 1 2)");
}

TEST_F(ParseTest, EveryOperator) {
  EXPECT_EQ(Read("a + b"), "Add(a, b)");
  EXPECT_EQ(Read("a - b"), "Sub(a, b)");
  EXPECT_EQ(Read("a * b"), "Compose(a, b)");
  EXPECT_EQ(Read("a *. b"), "Mul(a, b)");
  EXPECT_EQ(Read("a / b"), "Div(a, b)");
  EXPECT_EQ(Read("a /. b"), "Div(a, b)");
  EXPECT_EQ(Read("n % n"), "Rem(ints, ints)");
  EXPECT_EQ(Read("a **. b"), "Pow(a, b)");
  EXPECT_EQ(Read("a **. 2"), "Mul(a, a)");
  EXPECT_EQ(Read("-a"), "Neg(a)");
  EXPECT_EQ(Read("a < b"), "Less(a, b)");
  EXPECT_EQ(Read("a <= b"), "LessEqual(a, b)");
  EXPECT_EQ(Read("a > b"), "Less(b, a)");
  EXPECT_EQ(Read("a >= b"), "LessEqual(b, a)");
  EXPECT_EQ(Read("a = b"), "Equal(a, b)");
  EXPECT_EQ(Read("a == b"), "Equal(a, b)");
  EXPECT_EQ(Read("a <> b"), "NotEqual(a, b)");
  EXPECT_EQ(Read("a != b"), "NotEqual(a, b)");
  EXPECT_EQ(Read("n && n"), "And(NotEqual(ints, 0), NotEqual(ints, 0))");
  EXPECT_EQ(Read("n & n"), "And(ints, ints)");
  EXPECT_EQ(Read("n || n"), "Or(NotEqual(ints, 0), NotEqual(ints, 0))");
  EXPECT_EQ(Read("n | n"), "Or(ints, ints)");
  EXPECT_EQ(Read("n ^ n"), "Xor(ints, ints)");
  EXPECT_EQ(Read("n << 2"), "Shl(ints, 2)");
  EXPECT_EQ(Read("n >> 2"), "Shr(ints, 2)");
  EXPECT_EQ(Read("x @| batch_n"), "Slice(x, batch_n)");
  EXPECT_EQ(Read("x @| step"), "Slice(x, step_n)");
}

TEST_F(ParseTest, EveryReduction) {
  EXPECT_EQ(Read("a +* \"b|h->o; b|i->h => b|i->o\" b"),
            "SumMul[b|h->o; b|i->h => b|i->o](a, b)");
  EXPECT_EQ(Read("x ++ \"...|... => 0\""), "Sum[...|... => 0](x)");
  EXPECT_EQ(Read("a +++ \"il; jl => ijl\" b"), "SumAdd[il; jl => ijl](a, b)");
  EXPECT_EQ(Read("a ++^ \"i; j; k => i^j^k\" b -c + a"),
            "Add(Sum[i; j; k => i^j^k](a, b, Neg(c)), a)");
  EXPECT_EQ(Read("a @^^ \"ij => i\""), "Max[ij => i](a)");
  EXPECT_EQ(Read("a ++ \"..v.., i => i\" [\"i\" = 2; \"..v..\" = hid] *. b"),
            "Mul(Sum[..v..i => i](a), b)");
  ASSERT_EQ(graph_.size_rules().size(), 2u);
  EXPECT_EQ(graph_.size_rules()[1].name.name, "..v..");
  EXPECT_EQ(std::get<int64_t>(graph_.size_rules()[1].is), 16);
  EXPECT_EQ(Read("a +* \"i; j => ij\" [\"i\" = \"j\"] [1; 2]"),
            "SumMul[i; j => ij](a, Data batch= output=2 input= 1 2)");
  EXPECT_EQ(std::get<SpecName>(graph_.size_rules()[2].is).name, "j");
  EXPECT_EQ(Read("a ++ \"steps*i+hid*k => i\""), "Sum[10*i+16*k => i](a)");
  EXPECT_EQ(Read("a @^+ \"ij; jk => ik\" b"), "MaxAdd[ij; jk => ik](a, b)");
}

TEST_F(ParseTest, Functions) {
  EXPECT_EQ(Read("relu x"), "Relu(x)");
  EXPECT_EQ(Read("relu (x)"), "Relu(x)");
  EXPECT_EQ(Read("relu sqrt x"), "Relu(Sqrt(x))");
  EXPECT_EQ(Read("not (a < b)"), "Not(Less(a, b))");
  EXPECT_EQ(Read("not n = n"), "Equal(Convert_i64(Equal(ints, 0)), ints)");
  EXPECT_EQ(Read("max(a, b + 1)"), "Max(a, Add(b, 1))");
  EXPECT_EQ(Read("select(a < b, a, -inf)"), "Select(Less(a, b), a, Neg(inf))");
  EXPECT_EQ(Read("fma(a, b, c)"), "Fma(a, b, c)");
  EXPECT_EQ(Read("pow(a, b)"), "Pow(a, b)");
  EXPECT_EQ(Read("f64(x)"), "Convert_f64(x)");
  EXPECT_EQ(Read("f32 n"), "Convert_f32(ints)");
  EXPECT_EQ(Read("bits_u32(x)"), "Bitcast_u32(x)");
  EXPECT_THAT(Read("f32(0.5 < uniform()) *. x"), HasSubstr("ThreefryCrypto("));
}

TEST_F(ParseTest, EveryOperationIsAFunction) {
  for (Op op : AllOps()) {
    if (IsInfix(op) || op == Op::kConvert || op == Op::kBitcast) continue;
    const OpInfo& info = Info(op);
    bool takes_floats = Accepts(info.typing, DType::kF32);
    std::vector<std::string> args(info.arity, takes_floats ? "x" : "n");
    const bool takes_truth = info.typing == Typing::kSelect || op == Op::kNot;
    if (takes_truth) args[0] = "x < x";
    if (info.typing == Typing::kWord) args.assign(info.arity, "u32(x)");
    std::string text =
        absl::StrCat(info.text, "(", absl::StrJoin(args, ", "), ")");
    EXPECT_THAT(Read(text), StartsWith(absl::StrCat(info.name, "("))) << text;
  }
}

TEST_F(ParseTest, GivenNamesHideFunctions) {
  names_.tensors.emplace("exp", Tensor(names_.tensors.at("x")));
  EXPECT_EQ(Read("exp + 1"), "Add(x, 1)");
}

TEST_F(ParseTest, HowTextsRead) {
  constexpr const char* kTexts[][2] = {
      {"max a b + c", "Add(Max(a, b), c)"},
      {"max (a) b *. c", "Mul(Max(a, b), c)"},
      {"max a min b c", "Max(a, Min(b, c))"},
      {"max ~-a b", "Max(Neg(a), b)"},
      {"relu a - b", "Sub(Relu(a), b)"},
      {"relu relu a", "Relu(Relu(a))"},
      {"-relu a", "Neg(Relu(a))"},
      {"where (a < b) a b", "Select(Less(a, b), a, b)"},
      {"~-a *. b", "Mul(Neg(a), b)"},
      {"~-a **. b", "Pow(Neg(a), b)"},
      {"a - ~-b", "Sub(a, Neg(b))"},
      {"not a < b", "Less(Convert_f32(Equal(a, 0)), b)"},
      {"a < b && c", "And(Less(a, b), NotEqual(c, 0))"},
      {"a && b || c",
       "Or(And(NotEqual(a, 0), NotEqual(b, 0)), NotEqual(c, 0))"},
      {"1 - (a = b)", "Sub(1, Convert_f32(Equal(a, b)))"},
      {"(a < b) + (b < c)",
       "Add(Convert_f32(Less(a, b)), Convert_f32(Less(b, c)))"},
      {"(a, b) +++ \"i; j => ij\" - c", "Sub(SumAdd[i; j => ij](a, b), c)"},
      {"let a = b in (let a = c in a) - a", "Sub(c, b)"},
      {"a + let b = c in b - a", "Add(a, Sub(c, a))"},
      {"let f ~x y = x - y in f a ~x:b + c", "Add(Sub(b, a), c)"},
      {"a - (* b (* c *) *) c", "Sub(a, c)"},
  };
  for (const auto& [text, structure] : kTexts) {
    EXPECT_EQ(Read(text), structure) << text;
  }
  EXPECT_THAT(Read("max a -b"), HasSubstr("takes 2 arguments"));
  EXPECT_THAT(Read("max ~a:x x"), HasSubstr("`max` has no labels"));
  EXPECT_THAT(Read("let f ~a b = a in f ~c:x x"),
              HasSubstr("write f(~a:a, b)"));
  EXPECT_THAT(Read("let q = x in {q}"), HasSubstr("`q` is what a `let` names"));
}

TEST_F(ParseTest, Precedence) {
  EXPECT_EQ(Read("a + b * c"), "Add(a, Compose(b, c))");
  EXPECT_EQ(Read("a * b + c"), "Add(Compose(a, b), c)");
  EXPECT_EQ(Read("a - b - c"), "Sub(Sub(a, b), c)");
  EXPECT_EQ(Read("a - -b"), "Sub(a, Neg(b))");
  EXPECT_EQ(Read("a /. b *. c"), "Mul(Div(a, b), c)");
  EXPECT_EQ(Read("a * b *. c"), "Mul(Compose(a, b), c)");
  EXPECT_EQ(Read("a **. b **. c"), "Pow(a, Pow(b, c))");
  EXPECT_EQ(Read("a *. b **. c"), "Mul(a, Pow(b, c))");
  EXPECT_EQ(Read("(-a) **. b"), "Pow(Neg(a), b)");
  EXPECT_EQ(Read("-(a **. b)"), "Neg(Pow(a, b))");
  EXPECT_EQ(Read("a **. -b"), "Pow(a, Neg(b))");
  EXPECT_EQ(Read("a - b **. c"), "Sub(a, Pow(b, c))");
  EXPECT_EQ(Read("-a *. b **. c"), "Mul(Neg(a), Pow(b, c))");
  EXPECT_EQ(Read("-relu a"), "Neg(Relu(a))");
  EXPECT_EQ(Read("relu a + b"), "Add(Relu(a), b)");
  EXPECT_EQ(Read("relu a **. b"), "Pow(Relu(a), b)");
  EXPECT_EQ(Read("a *.b"), "Mul(a, b)");
  EXPECT_EQ(Read("2*.a"), "Mul(2, a)");
  EXPECT_EQ(Read("a + b < c"), "Less(Add(a, b), c)");
  EXPECT_EQ(Read("a < b && b < c || c < a"),
            "Or(And(Less(a, b), Less(b, c)), Less(c, a))");
  EXPECT_EQ(Read("n | n ^ n & n << n + 1"),
            "Or(ints, Xor(ints, And(ints, Shl(ints, Add(ints, 1)))))");
  EXPECT_EQ(Read("a + b @| batch_n"), "Slice(Add(a, b), batch_n)");
  EXPECT_EQ(Read("x @| batch_n @| step"), "Slice(Slice(x, batch_n), step_n)");
  EXPECT_EQ(Read("a *. b ++ \"ij => i\""), "Sum[ij => i](Mul(a, b))");
  EXPECT_EQ(Read("a + b ++ \"ij => i\""), "Sum[ij => i](Add(a, b))");
  EXPECT_EQ(Read("a ++ \"ij => i\" + b"), "Add(Sum[ij => i](a), b)");
  EXPECT_EQ(Read("a @^^ \"ij => i\" < b"), "Less(Max[ij => i](a), b)");
  EXPECT_EQ(Read("a +* \"i; i => i\" b *. c"),
            "SumMul[i; i => i](a, Mul(b, c))");
  EXPECT_EQ(Read("a +* \"ij; jk; kl; lm => im\" b c a + b"),
            "Add(SumMul[ij; jk; kl; lm => im](a, b, c, a), b)");
  EXPECT_EQ(Read("a +* \"i; i => i\" b + c"),
            "Add(SumMul[i; i => i](a, b), c)");
  EXPECT_EQ(Read("a @^+ \"i; i => i\" b + c"),
            "MaxAdd[i; i => i](a, Add(b, c))");
}

TEST_F(ParseTest, Parameters) {
  EXPECT_EQ(Read("{p}"), "{p}");
  EXPECT_EQ(Read("{p1; o=[16]}"), "{p1 output=16}");
  EXPECT_EQ(Read("{ p2; i = [ 2 ]; o = [3; 4] }"), "{p2 output=3,4 input=2}");
  EXPECT_EQ(Read("{p3; b=[]; i=[]; o=[hid, !..steps]}"),
            "{p3 batch= output=16,10 input=}");
  EXPECT_EQ(Read("{p4} + p4 + {p4}"), "Add(Add({p4}, {p4}), {p4})");
  EXPECT_THAT(ParameterNames(), ElementsAre("p4"));
  EXPECT_EQ(Read("{p5; o=[2]} + {p5; o=[2]} + {p6}"),
            "Add(Add({p5 output=2}, {p5 output=2}), {p6})");
  EXPECT_THAT(ParameterNames(), ElementsAre("p5", "p6"));
  EXPECT_EQ(Read("p5"), "{p5 output=2}");
  EXPECT_EQ(Read("{graph_only} * x + graph_only"),
            "Add(Compose({graph_only_2}, x), {graph_only_2})");
  EXPECT_EQ(Read("{p7: f64} *. 0.1"), "Mul({p7}, 0.1)");
  EXPECT_EQ(parameters_[0].node().dtype, DType::kF64);
}

TEST_F(ParseTest, BlocksOfRandomWordsHaveAnAxisMore) {
  EXPECT_EQ(Read("{k: uint4x32}"), "{k output=4}");
  EXPECT_EQ(parameters_[0].node().dtype, DType::kU32);
  EXPECT_EQ(Read("{k2: uint4x32; i=[3]; o=[2 row]} + {k2: u32; o=[2 row, 4]}"),
            "Add({k2 output=2,4 input=3}, {k2 output=2,4 input=3})");
}

TEST_F(ParseTest, FirstValues) {
  Read("{p}");
  EXPECT_THAT(FirstValue(), HasSubstr("ThreefryCrypto("));
  EXPECT_EQ(Read("{q = 0.5; o=[2]} + 1"), "Add({q output=2}, 1)");
  EXPECT_EQ(FirstValue(), "0.5");
  Read("{q1 = [1; 2] *. x + 1; o=[2]}");
  EXPECT_EQ(FirstValue(), "Add(Mul(Data batch= output=2 input= 1 2, x), 1)");
  Read("{q2 = a = b; o=[2]}");
  Read("{q3: f64 = f64(uniform1 () - 0.5)}");
  EXPECT_THAT(FirstValue(), HasSubstr("Convert_f64(Sub("));
  Read("{q4 = kaiming(uniform1 (), 2)}");
  EXPECT_THAT(FirstValue(), HasSubstr("Sqrt(Div(2, Dim({q4})))"));
  Read("{q5 = kaiming uniform1 ()}");
  EXPECT_THAT(FirstValue(), HasSubstr("Sqrt(Div(6, Dim({q5})))"));
  Read("{q6 = xavier(normal())}");
  EXPECT_THAT(FirstValue(),
              HasSubstr("Sqrt(Div(6, Add(Dim({q6}), Dim({q6}))))"));
}

TEST_F(ParseTest, Lets) {
  EXPECT_EQ(Read("let%op twice a = a + a in let y = twice x in twice(y) *. x"),
            "Mul(Add(Add(x, x), Add(x, x)), x)");
  EXPECT_TRUE(graph_.Find("twice_x"));
  EXPECT_TRUE(graph_.Find("twice_twice_x"));
  Read("let line p q = {u = 2} * p + {v} + q in line x 1 + line(line x 2, 3)");
  EXPECT_THAT(ParameterNames(), ElementsAre("u", "v"));
  EXPECT_EQ(Read("let z = x in z + z"), "Add(x, x)");
  EXPECT_TRUE(graph_.Find("x"));
}

// What depends on the arguments is no error where nothing calls it, and leaves
// nothing.
TEST_F(ParseTest, BodiesThatNothingCalls) {
  const int32_t size = graph_.size();
  const uint32_t drawn = graph_.NextRandom();
  EXPECT_EQ(Read("let f n = range(n) + gather(\"v, d; b| => b|d\", n, n) in "
                 "let g a = {w9 = kaiming(uniform())} * f(a) + f(2) "
                 "+ (a ++ \"ij => i\") in x"),
            "x");
  EXPECT_EQ(graph_.size(), size);
  EXPECT_EQ(graph_.NextRandom(), drawn + 1);
}

TEST_F(ParseTest, TimesAScalar) {
  EXPECT_EQ(Read("2 * x + x * 2"), "Add(Mul(2, x), Mul(x, 2))");
}

TEST_F(ParseTest, Placeholders) {
  EXPECT_EQ(Read("relu \"infer\" *. \"infer\" + infer"),
            "Add(Mul(Relu({infer input=}), {infer input=}), {infer input=})");
  EXPECT_FALSE(graph_[*graph_.Find("infer")].has_gradient);
}

TEST_F(ParseTest, Moons) {
  EXPECT_EQ(Read("{w3} * relu ({b2; o=[16]} + ({w2} * relu ({b1; o=[16]} + "
                 "({w1} * x))))"),
            "Compose({w3}, Relu(Add({b2 output=16}, Compose({w2}, Relu(Add({b1 "
            "output=16}, Compose({w1}, x)))))))");
  EXPECT_THAT(ParameterNames(), ElementsAre("w3", "b2", "w2", "b1", "w1"));
  EXPECT_EQ(Read("relu (1 - (c *. x))"), "Relu(Sub(1, Mul(c, x)))");
  EXPECT_EQ(Read("(x ++ \"...|... => 0\") /. !..steps"),
            "Div(Sum[...|... => 0](x), 10)");
  EXPECT_EQ(Read("0.1 *. ((2 *. !..steps) - !@step) /. !..steps"),
            "Div(Mul(0.1, Sub(Mul(2, 10), !@step_n)), 10)");
}

// 0.1 seconds. A scan for each level of brackets would take half a minute.
TEST_F(ParseTest, TimeIsLinearInTheLength) {
  std::string sums = "x", numbers = "1";
  for (int k = 0; k < 4000; ++k) sums += " + x", numbers += "; 1";
  std::string deep[] = {sums, absl::StrCat("[", numbers, "]"), sums};
  const std::pair<const char*, const char*> brackets[] = {
      {"(", ")"}, {"[", "]"}, {"{q = ", "}"}};
  const std::clock_t start = std::clock();
  for (int kind = 0; kind < 3; ++kind) {
    for (int k = 0; k < 150; ++k) {
      deep[kind] =
          absl::StrCat(brackets[kind].first, deep[kind], brackets[kind].second);
    }
    Read(deep[kind]);
    Read(std::string(100'000, brackets[kind].first[0]));
  }
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 5);
}

TEST_F(ParseTest, NodesSayWhatAndWhere) {
  absl::StatusOr<ParsedTensor> parsed = ParseTensor(
      graph_, "relu({p} * x)", names_, {.file = "net.cc", .line = 7});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(Describe(parsed->tensor.node()), "`relu(p * x)` (net.cc:7)");
  const auto& relu = std::get<ComputeSource>(parsed->tensor.node().source);
  EXPECT_EQ(Describe(graph_[relu.operands[0]]), "`p * x` (net.cc:7)");
  EXPECT_EQ(Describe(parsed->parameters[0].node()), "`p` (net.cc:7)");
}

}  // namespace
}  // namespace ocannl
