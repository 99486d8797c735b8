// SPDX-License-Identifier: Apache-2.0
//
// Operations that are defined by two texts: those of the source documents'
// slides are the library's to the last bit, and have its gradients.
#include "ocannl/core/notation/statements/define.h"

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  std::string name, forward, backward;
  std::string logic;    // of the operation
  std::string library;  // the same in the notation
};

// The values and the gradients of a and b.
using Results = std::vector<std::vector<float>>;

Results ResultsOf(const std::function<Tensor(train::Model&, Names&)>& make) {
  train::Model model;
  Names names;
  for (const char* text :
       {"{a = [(1, -2, 3); (0.5, 5, -6)]}", "{b = [(2, 3); (4, -5); (7, 8)]}",
        "{c = [(3, 1, 2); (7, 2, 4)]}"}) {
    MustParseTensor(model.graph, text, names);
  }
  Tensor y = Named(make(model, names), "y");
  Tensor weighted = PointMul(y, Offsets(model.graph, DType::kF32) + 1);
  Tensor loss = Named(Einsum1("...|...->... => 0", weighted), "loss");
  CHECK_OK(SetMemoryMode(y, MemoryMode::kMaterialized));
  auto init = train::InitParams(model, loss);
  CHECK_OK(init);
  auto step = train::GradUpdate(model, loss);
  CHECK_OK(step);
  for (Array& array : step->arrays)
    array.memory = {MemoryMode::kOnDevice, "the test"};
  TestDevice host;
  auto start = ToRoutine(host.context, *init, {});
  CHECK_OK(start);
  CHECK_OK(start->Run());
  auto routine = ToRoutine(start->context(), *step, {});
  CHECK_OK(routine);
  CHECK_OK(routine->Run());
  Results results;
  for (const Array& array : step->arrays) {
    if (array.name != "y" && array.name.find(".grad") == std::string::npos) {
      continue;
    }
    auto read = routine->context().Read(array.name);
    CHECK_OK(read);
    absl::Span<const float> values = read->values<float>();
    results.emplace_back(values.begin(), values.end());
  }
  return results;
}

class DefineSlidesTest : public testing::TestWithParam<Case> {};

TEST_P(DefineSlidesTest, IsTheLibrarys) {
  const Case& c = GetParam();
  Results defined = ResultsOf([&](train::Model&, Names& names) {
    Names numbers;
    numbers.numbers = {{"p", 2}};
    auto op = DefineOp(c.name, c.forward, c.backward, numbers);
    CHECK_OK(op);
    std::vector<Arg> args = {names.tensors.at("a")};
    if ((*op)->operands.size() == 2) {
      args.push_back(names.tensors.at(c.logic == "." ? "c" : "b"));
    }
    return ApplyDefined(*op, args, c.logic);
  });
  Results library = ResultsOf([&](train::Model& model, Names& names) {
    return MustParseTensor(model.graph, c.library, names);
  });
  EXPECT_EQ(defined, library);
}

INSTANTIATE_TEST_SUITE_P(
    Slides, DefineSlidesTest,
    testing::Values(
        Case{"add", "v =: v1 + v2", "g1 =+ g; g2 =+ g", ".", "a + c"},
        Case{"sub", "v =: v1 - v2", "g1 =+ g; g2 =- g", ".", "a - c"},
        Case{"pointmul", "v =: v1 * v2", "g1 =+ g * v2; g2 =+ v1 * g", ".",
             "a *. c"},
        Case{"pointmul_by_slots", "lhs =: rhs * rhs2",
             "t1.grad =+ t.grad * rhs2; g2 =+ t1.value * g", ".", "a *. c"},
        Case{"matmul", "v =:+ v1 * v2", "g1 =+ g * v2; g2 =+ v1 * g", "@",
             "a * b"},
        Case{"einsum", "v =:+ v1 * v2", "g1 =+ g * v2; g2 =+ v1 * g",
             "i->j; k->i => k->j", "a +* \"i->j; k->i => k->j\" b"},
        Case{"greatest", "v =:@^ v1", "g1 =+ g", "i->j => j",
             "a @^^ \"i->j => j\""},
        Case{"relu", "v =: max(0, v1)",
             "(* the gradient of max *) g1 =+ select(v1 > 0, g, 0)", ".",
             "relu a"},
        Case{"pointpow", "v =: v1 * v1",
             "if p = 2 then g1 =+ !.p * t1 * g else g1 =+ g", ".", "a **. 2"},
        Case{"pointpow_as_written", "v =: v1 ** !.p ~projections",
             "g1 =+ !.p * (t1 **. 1) * g", ".", "a ** 2"},
        Case{"pointdiv", "v =: v1 / v2",
             "g1 =+ g / v2; g2 =- g * (v1 / v2) / v2", ".", "a / c"}),
    [](const auto& test) { return test.param.name; });

TEST(DefineErrorTest, SaysWhereAndWhat) {
  auto message = [](const char* forward, const char* backward) {
    return std::string(DefineOp("f", forward, backward).status().message());
  };
  EXPECT_THAT(message("v = v1", ""), HasSubstr("expected an assignment"));
  EXPECT_EQ(message("v =: v1; v =: v1", ""),
            "line 1, column 1: expected one statement `v =: ...`, `v =:+ ...` "
            "or `v =:@^ ...`");
  EXPECT_EQ(message("v =:* v1", ""),
            "line 1, column 1: terms accumulate by `=:+` or `=:@^`");
  EXPECT_EQ(message("v =: v1", "g1 =+ g;\ng2 =+ g"),
            "line 2, column 1: expected a statement `g1 =+ ...` or `=-`, up to "
            "g1");
  EXPECT_EQ(message("v =: v1", "g1 =: g"),
            "line 1, column 1: expected a statement `g1 =+ ...` or `=-`, up to "
            "g1");
  EXPECT_THAT(message("v =: v1 + w", ""), HasSubstr("no tensor `w`"));
  EXPECT_EQ(message("v =: v1 ++ \"i => 0\"", ""),
            "line 1, column 1: `v1 ++ \"i => 0\"` is no number and no "
            "pointwise operation");
  EXPECT_THAT(message("v =: v1 + {w}", ""), HasSubstr("is no number"));
}

TEST(DefineErrorTest, WrongUsesAreErrorNodes) {
  Graph graph;
  auto op = DefineOp("f", "v =: v1 * v2", "");
  CHECK_OK(op);
  Tensor x = Number(graph, 1);
  auto message = [](Tensor t) {
    const auto* error = std::get_if<ErrorSource>(&t.node().source);
    return error == nullptr ? "" : std::string(error->status.message());
  };
  EXPECT_EQ(message(ApplyDefined(*op, {x})),
            "error in `f(1)`: `f` takes 2 operands, not 1");
  EXPECT_EQ(
      message(ApplyDefined(*op,
                           {Convert(x, DType::kF32), Convert(x, DType::kF64)})),
      "error in `f(f32(1), f64(1))`: `f` takes operands of one dtype, not f32 "
      "and f64");
  EXPECT_THAT(message(ApplyDefined(*op, {x, x}, "@")),
              HasSubstr("`f` does not say how terms accumulate"));
  auto sums = DefineOp("g", "v =:+ v1 * v2", "");
  CHECK_OK(sums);
  EXPECT_THAT(message(ApplyDefined(*sums, {x, x}, "i => i")),
              HasSubstr("spec"));
  EXPECT_EQ(message(ApplyDefined(*sums, {x, x}, "@")), "");
}

// Integers that a double skips, in formulas and of C++.
TEST(DefineTest, IntegersAreExact) {
  auto read = [](auto make) {
    train::Model model;
    const Tensor t = Named(make(model.graph), "t");
    auto code = train::Forward(model, t);
    CHECK_OK(code);
    TestDevice host;
    auto routine = ToRoutine(host.context, *code, {});
    CHECK_OK(routine);
    CHECK_OK(routine->Run());
    auto values = routine->context().Read("t");
    CHECK_OK(values);
    return *std::move(values);
  };
  auto apply = [](const char* formula, DType dtype) {
    return [=](Graph& graph) {
      auto op = DefineOp("f", formula, "");
      CHECK_OK(op);
      return ApplyDefined(*op, {Range(graph, 2, dtype)});
    };
  };
  EXPECT_THAT(
      read(apply("v =: v1 + 9007199254740993", DType::kI64)).values<int64_t>(),
      ElementsAre(9007199254740993, 9007199254740994));
  EXPECT_THAT(read(apply("v =: 18446744073709551615 - v1", DType::kU64))
                  .values<uint64_t>(),
              ElementsAre(18446744073709551615u, 18446744073709551614u));
  EXPECT_THAT(read([](Graph& graph) {
                return Range(graph, 2, DType::kI64) - int64_t{9007199254740993};
              }).values<int64_t>(),
              ElementsAre(-9007199254740993, -9007199254740992));
  EXPECT_THAT(read([](Graph& graph) {
                const Tensor number = Number(graph, int64_t{9007199254740993});
                return Convert(number, DType::kI64) +
                       Range(graph, 2, DType::kI64);
              }).values<int64_t>(),
              ElementsAre(9007199254740993, 9007199254740994));
}

// Those of its gradients, too, if it has any.
TEST(DefineErrorTest, NumbersAreOfTheDTypeOfTheOperands) {
  Graph graph;
  auto op = DefineOp("f", "v =: v1 - 0.5", "g1 =+ 1e300 * g");
  CHECK_OK(op);
  Names names;
  auto error = [&](Tensor of) {
    Shapes shapes;
    const Tensor y = ApplyDefined(*op, {Arg(of, {.file = "a.cc", .line = 3})});
    return std::string(InferShapes(graph, {y.id}, shapes).message());
  };
  const Tensor x = Number(graph, 1);
  EXPECT_EQ(error(Convert(x, DType::kI32)),
            "error in `f(i32(1))` (a.cc:3): i32 does not hold 0.5; write "
            "f32(i32(1)), in C++ Convert(i32(1), DType::kF32), or another "
            "number");
  EXPECT_EQ(error(Convert(x, DType::kF16)), "");
  EXPECT_THAT(error(MustParseTensor(graph, "{w; o=[2]}", names)),
              HasSubstr("f32 does not hold 1e300; write f64(w)"));
  EXPECT_EQ(error(MustParseTensor(graph, "{v: f64; o=[2]}", names)), "");
  op = DefineOp("g", "v =: v1 + 18446744073709551615", "");
  EXPECT_EQ(error(Convert(x, DType::kU64)), "");
  EXPECT_THAT(error(Convert(x, DType::kI64)),
              HasSubstr("i64 does not hold 18446744073709551615"));
}

}  // namespace
}  // namespace ocannl
