// SPDX-License-Identifier: Apache-2.0
//
// The forms of the source documents' %cd in texts of our own, with values that
// were worked out by hand. Each holds on every tier of this machine, with the
// same bits. Two seconds.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::HasSubstr;
using Values = std::vector<double>;

// x is 1 -2 3, y is 4 0 0.5, m is the matrix 1 2; 3 4, v is 10 20, g0 is 1; the
// number p is 3, lr is 0.5.
struct Text {
  const char* text;
  const char* array;  // that the text sets
  Values values;
};

const Text kTexts[] = {
    // What is around statements.
    {"[%cd { a } =: x + y]", "a", {5, -2, 3.5}},
    {"[%cd { a } =: x; a =+ y]; a =* 2", "a", {10, -4, 7}},
    {"let%cd step = { a } =: x *. y", "a", {4, 0, 1.5}},
    {"let%cd step = { a } =: x; a =- 1 in step", "a", {0, -3, 2}},
    {"let%cd step ~x ~y:_ = { a } =: x in", "a", {1, -2, 3}},
    {"{ a } =: 0.; let%cd one = a =+ 1. in one; one; a =* 4.", "a", {8}},
    {"{ a } =: x; let%cd up () = a =+ 1 in let%cd twice = up; up in twice; up",
     "a",
     {4, 1, 6}},
    {"fun ~t1 ~t2:_ ~projections -> { a } =: x; a =+ 1", "a", {2, -1, 4}},
    {"{ a } =: x; if p = 3 then Asgns.Noop else a =: 0", "a", {1, -2, 3}},
    {"{ a } =: x; if p = 2 then fun ~g -> a =: 0 else fun ~g -> a =: 7",
     "a",
     {7, 7, 7}},
    {"let%cd f = [%cd ~~(x \"of f\"; { a } =: x)] in f", "a_x", {1, -2, 3}},
    // Numbers of the names.
    {"{ a } =: p_t *. x", "a", {3, -6, 9}},
    {"{ a } =: p *. x", "a", {3, -6, 9}},
    {"{ a } =: x **. (p -. 1.)", "a", {1, 4, 9}},
    {"{ a } =: x **. (p +. -1.)", "a", {1, 4, 9}},
    {"{ a } =: lr *. (p_t - 1) *. x", "a", {1, -2, 3}},
    {"{ a } =: x; a =- lr *. p_t", "a", {-0.5, -3.5, 1.5}},
    // Operations by name.
    {"{ a } =: add (x, y)", "a", {5, -2, 3.5}},
    {"{ a } =: sub (x, y)", "a", {-3, -2, 2.5}},
    {"{ a } =:+ mul (m, v)", "a", {50, 110}},
    {"{ a } =: mul (x, y) ~logic:\".\"", "a", {4, 0, 1.5}},
    {"{ a } =: div (x, 2)", "a", {0.5, -1, 1.5}},
    {"{ a } =: pow (x, 2)", "a", {1, 4, 9}},
    {"{ a } =: id x", "a", {1, -2, 3}},
    {"{ a } =: f32(lt (x, y))", "a", {1, 1, 0}},
    {"{ a } =: f32(eq (x, 1))", "a", {1, 0, 0}},
    {"{ a } =: f32(ne (x, 1))", "a", {0, 1, 1}},
    {"{ a } =: f32(and_ (x > 0, y > 0))", "a", {1, 0, 1}},
    {"{ a } =: f32(or_ (x > 2, y > 2))", "a", {1, 0, 1}},
    {"{ a } =: mod_ (x, 2)", "a", {1, 0, 1}},
    {"{ a } =: max (x, y)", "a", {4, 0, 3}},
    {"{ a } =: min (x, y)", "a", {1, -2, 0.5}},
    {"{ a } =: fst (x, y)", "a", {1, -2, 3}},
    {"{ a } =: snd (x, y)", "a", {4, 0, 0.5}},
    {"{ a } =: relu_gate (x, y)", "a", {4, 0, 0.5}},
    {"{ a } =: sat01_gate (y, x)", "a", {0, 0, 3}},
    {"{ a } =: recip_sqrt (y + 0.25) *. 0 + 1", "a", {1, 1, 1}},
    {"{ a } =: neg (add (x, id (y)))", "a", {-5, 2, -3.5}},
    {"{ id } =: x; { a } =: id + 1", "a", {2, -1, 4}},
    // Operators.
    {"{ a } =: x @^ y", "a", {4, 0, 3}},
    {"{ a } =: x @- y", "a", {1, -2, 0.5}},
    {"{ a } =: x @^ y @- 1", "a", {1, 0, 3}},
    {"{ a } =: x -?/ y", "a", {4, 0, 0.5}},
    {"{ a } =: y -?^ x", "a", {0, 0, 3}},
    {"{ a } =: x -@> y", "a", {1, -2, 3}},
    {"{ a } =: x -/> y", "a", {4, 0, 0.5}},
    // Assignments.
    {"{ a } =: x; a =** 2", "a", {1, 4, 9}},
    {"{ a } =: x; a =** p_t", "a", {1, -8, 27}},
    // Squares that are rounded, and are those of x ** 2.
    {"{ s } =: x + 0.1; { a } =: s ** 7; s =** 7; a =- s", "a", {0, 0, 0}},
    {"{ a } =: x; a =:** 7 *. y", "a", {1, 1, 1}},
    {"{ a } =: x; a =?/ y", "a", {4, 0, 0.5}},
    {"{ a } =: x; a =:?/ y", "a", {4, 0, 0.5}},
    {"{ a } =: y; a =?^ x", "a", {0, 0, 3}},
    {"{ a } =: y; a =:?^ x", "a", {1, -2, 3}},
    {"{ a } =: x; a =:/ y + 4", "a", {0.125, 0.25, 1 / 4.5}},
    {"{ a } =: x; a =&& y", "a", {1, 0, 1}},
    {"{ a } =: x; a =|| y", "a", {1, 1, 1}},
    {"{ a } =: y; a =&& x > 1", "a", {0, 0, 1}},
    {"{ a } =: y; a =:&& x > 1", "a", {0, 0, 1}},
    {"{ a } =: [0; 0]; a =:|| [1; 0]", "a", {1, 0}},
    {"{ b } =: x > 0; b =&& y > 1; { a } =: f32(b)", "a", {1, 0, 0}},
    {"{ b } =: x > 0; b =|| y < 1; { a } =: f32(b)", "a", {1, 1, 1}},
    {"{ a; o = [1] } =:|| id (x > 2) ~logic:\"i => 0\"", "a", {1}},
    {"{ a; o = [1] } =:&& id (x > 2) ~logic:\"i => 0\"", "a", {0}},
    {"{ i; o=[2] } =: 6:i32; i =&& i32([4; 0]); { a } =: f32(i)", "a", {1, 0}},
    {"{ a } =: x; a =: y > 0", "a", {1, 0, 1}},
    {"{ a } =: x; a =+ x > 0", "a", {2, -2, 4}},
    {"{ a } =: x; a =+ not y", "a", {1, -1, 3}},
    {"{ a } =: x; a =* x > 0", "a", {1, 0, 3}},
    {"{ a } =: x; a =- (x > 0) + (y > 1)", "a", {-1, -2, 2}},
    {"{ a } =: x; a =@^ x > 0", "a", {1, 0, 3}},
    {"{ a } =: x; a =** y > 1", "a", {1, 1, 1}},
    {"{ a } =:+ id (x > 0) ~logic:\"i => 0\"", "a", {2}},
    {"{ a } =: where x (x > 2) y", "a", {0, 0, 1}},
    {"{ i } =: i32(x); i =+ x > 0; { a } =: f32(i)", "a", {2, -2, 4}},
    {"{ a } =:+ lt (x, y) ~logic:\"i; i => 0\"", "a", {2}},
    // Declarations.
    {"{ a; o = [3] } =: 2", "a", {2, 2, 2}},
    {"{ a; output_dims = [2] } =: lr", "a", {0.5, 0.5}},
    {"{ a; i = [2]; o = [2] } =: 0.; a =+ m", "a", {1, 2, 3, 4}},
    {"{ a: f64; o = [2] } =: 0.25", "a", {0.25, 0.25}},
    {"{ a; b = [2]; o = [3] } =: x", "a", {1, -2, 3, 1, -2, 3}},
    // Let.
    {"let d = x + y in { a } =: d *. d", "a", {25, 4, 12.25}},
    {"{ a } =: x; let d = a + 1 in a =: d; a =+ d", "a", {4, -2, 8}},
    {"let d = x in let d = d + 1 in { a } =: d", "a", {2, -1, 4}},
    {"let two = 2 in { a } =: two *. x", "a", {2, -4, 6}},
    {"let rate = lr -. 0.25 in { a } =: rate *. x", "a", {0.25, -0.5, 0.75}},
    {"let f z = z *. z + 1 in { a } =: f(x); a =+ f(y)", "a", {19, 6, 11.25}},
    {"let f z = 2 *. z in let g z = f(z) + 1 in { a } =: g(x)",
     "a",
     {3, -3, 7}},
    {"(let d = x in { a } =: d); { d } =: a + 1; a =: d", "a", {2, -1, 4}},
    {"{ a } =: let d = x + 1 in d *. d", "a", {4, 1, 16}},
    {"let d = let e = x in e + 1 in { a } =: d", "a", {2, -1, 4}},
    {"let%op d = x in { a } =: d", "a", {1, -2, 3}},
    {"let f ~u w = u - w in { a } =: f ~u:y x; a =+ f x ~u:x",
     "a",
     {3, 2, -2.5}},
    {"{ a } =: let f ~u ~w = u - w in f ~w:x ~u:y ~logic:\".\"",
     "a",
     {3, 2, -2.5}},
    // Logic.
    {"{ a } =: fma (m, v, v) ~logic:\"@\"", "a", {60, 130}},
    {"{ a } =:+ fma (m, v, v) ~logic:\"@\"", "a", {60, 130}},
    {"{ a } =: v; a =- fma (m, v, v) ~logic:\"@\"", "a", {-50, -110}},
    {"{ a } =: fma (x, x, y)", "a", {5, 4, 9.5}},
    {"{ a } =: fma (x, x, y) ~logic:\".\"", "a", {5, 4, 9.5}},
    {"{ a } =:+ fma (x, y, y) ~logic:\"i; i; i => 0\"", "a", {10}},
    {"{ a } =: id m ~logic:\"T\"", "a", {1, 3, 2, 4}},
    {"{ a } =: relu x ~logic:\".\"", "a", {1, 0, 3}},
    {"{ a } =: neg x ~logic:\"i => i0\"", "a", {-1, 2, -3}},
    {"{ a } =:+ id x ~logic:\"i => 0\"", "a", {2}},
    {"{ a } =:+ id (x + y) ~logic:\"i => 0\"", "a", {6.5}},
    {"{ a } =:+ add (x, v) ~logic:\"i; j => j\"", "a", {32, 62}},
    {"{ a } =:@^ sub (x, v) ~logic:\"i; j => j\"", "a", {-7, -17}},
    {"{ a } =:+ where (x > 0, y, x) ~logic:\"i; i; i => 0\"", "a", {2.5}},
    // Names like those of nodes.
    {"{ n1 } =: x + 1; { n2_relu } =: relu n1; { a } =: n2_relu",
     "a",
     {2, 0, 4}},
    {"{ n0 } =: x; { n1 } =: n0; { n2 } =: n1 + n0; { a } =: n2",
     "a",
     {2, -4, 6}},
    {"{ n1 } =: x; { n1.grad } =: n1 + y; { a } =: n1.grad + n1",
     "a",
     {6, -4, 6.5}},
    {"{ y.sum_rhs1 } =:+ id m ~logic:\"j->i => i\"; { a } =: y.sum_rhs1",
     "a",
     {3, 7}},
    {"{ lion_c_w } =: x; { d.let } =: lion_c_w; { n3_w } =: d.let; let d = "
     "n3_w in { a } =: d + d.let",
     "a",
     {2, -4, 6}},
};

class CodeFormsTest : public testing::TestWithParam<Text> {};

void MakeNames(train::Model& model, Names& names) {
  const std::pair<const char*, const char*> kTensors[] = {
      {"x", "[1; -2; 3]"},
      {"y", "[4; 0; 0.5]"},
      {"m", "[(1, 2); (3, 4)]"},
      {"v", "[10; 20]"}};
  for (const auto& [name, text] : kTensors) {
    const Tensor tensor = MustParseTensor(model.graph, text, names);
    names.tensors.emplace(name, Named(tensor, name));
  }
  names.numbers = {{"p", 3}, {"lr", 0.5}};
}

Values RunText(const Text& text, const Backend* backend) {
  train::Model model;
  Names names;
  MakeNames(model, names);
  auto code = train::ParseCode(model, text.text, names);
  if (!code.ok()) {
    ADD_FAILURE() << text.text << ": " << code.status().message();
    return {};
  }
  code->update.name = "code";
  CHECK_OK(Keep(code->update, text.array)) << text.text;
  TestDevice host(backend);
  auto routine = ToRoutine(host.context, code->update, {});
  if (!routine.ok()) {
    ADD_FAILURE() << text.text << ": " << routine.status().message();
    return {};
  }
  CHECK_OK(routine->Run()) << text.text;
  return CellsOf(routine->context(), text.array);
}

TEST_P(CodeFormsTest, GiveThatOnEveryTier) {
  std::optional<Values> first;
  for (const std::string& tier : AvailableTiers()) {
    auto backend = FindTier(tier);
    CHECK_OK(backend);
    const Values values = RunText(GetParam(), *backend);
    EXPECT_THAT(values,
                testing::Pointwise(testing::FloatEq(), GetParam().values))
        << GetParam().text << " on " << tier;
    if (!first) first = values;
    EXPECT_EQ(values, *first) << GetParam().text << " on " << tier;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CodeFormsTest, testing::ValuesIn(kTexts));

// A let in a loop is computed for each tensor, by its values.
TEST(CodeFormsTest, LetInALoop) {
  train::Model model;
  Names names;
  MakeNames(model, names);
  names.lists = {{"params", {names.tensors.at("x"), names.tensors.at("y")}}};
  for (const std::string& tier : AvailableTiers()) {
    auto code = train::ParseCode(
        model,
        "{ a } =: 0 *. x; for p in params do (let d = 2 *. p in "
        "let e = d + 1 in a =+ d *. e); { d } =: a",
        names);
    ASSERT_TRUE(code.ok()) << code.status();
    CHECK_OK(Keep(code->update, "a"));
    auto backend = FindTier(tier);
    CHECK_OK(backend);
    TestDevice host(*backend);
    auto routine = ToRoutine(host.context, code->update, {});
    ASSERT_TRUE(routine.ok()) << routine.status();
    CHECK_OK(routine->Run());
    // The sums of 4 p p + 2 p.
    EXPECT_EQ(CellsOf(routine->context(), "a"), Values({78, 12, 44})) << tier;
  }
}

TEST(CodeFormsTest, ErrorsNameThePlaceAndTheFix) {
  train::Model model;
  Names names;
  MakeNames(model, names);
  auto error = [&](const char* text) {
    return std::string(train::ParseCode(model, text, names).status().message());
  };
  EXPECT_THAT(error("{ a } =: x -. 1."),
              HasSubstr("`-.` is of two floats, such as 1.0; write x - 1."));
  EXPECT_THAT(error("{ a } =: p -.5"), HasSubstr("write p - 5"));
  EXPECT_THAT(error("{ a = 1 } =: x"),
              HasSubstr("the value stands behind the braces; write { a } =:"));
  EXPECT_THAT(error("{ a; o=[3 rgb] } =: x"), HasSubstr("have no bases"));
  EXPECT_THAT(error("{ a; o=[2] } =: x"), HasSubstr("line 1, column 3: "));
  EXPECT_EQ(error("{ a; o=[3] } like y"),
            "line 1, column 3: an array has the dtype and the rows of what it "
            "is like; write { a } like, or { a; o=[3] } =: 0");
  EXPECT_THAT(error("{ a: f64 } like y"), HasSubstr("write { a } like"));
  EXPECT_THAT(error("let d = x in\n{ a } =: d + q"),
              HasSubstr("line 2, column 14: no tensor `q`"));
  EXPECT_THAT(error("let f z = z + q in\n{ a } =: f(x)"),
              HasSubstr("line 1, column 15: no tensor `q`"));
  EXPECT_THAT(error("let f z = z in\n{ a } =: f(x) + q"),
              HasSubstr("line 2, column 17: no tensor `q`"));
  EXPECT_THAT(error("let d = x in { a } =: d; { b } =: dd"),
              HasSubstr("no tensor `dd`"));
  EXPECT_THAT(error("(let d = x in { a } =: d); { b } =: d"),
              HasSubstr("no tensor `d`"));
  EXPECT_THAT(error("let%cd f ~p = { a } =: x in f ~p:x"),
              HasSubstr("write its name alone"));
  EXPECT_THAT(error("{ a } =: 1 < x < 3"),
              HasSubstr("line 1, column 16: comparisons do not chain"));
  EXPECT_THAT(error("{ a } =:+ x > 0 ~logic:\"i => 0\""),
              testing::EndsWith(": the spec \"i => 0\" is wrong: it has 1 "
                                "operand(s) where the operation has 2"));
  EXPECT_THAT(error("[%cd { a } =: x"), HasSubstr("expected `;` or `]`"));
  EXPECT_THAT(error("{ a } =: where (x, y, y) ~logic:\"@\""),
              HasSubstr("and for fma"));
}

}  // namespace
}  // namespace ocannl
