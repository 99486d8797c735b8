// SPDX-License-Identifier: Apache-2.0
//
// Code as text, on numbers that can be worked out by hand: the training code of
// the source documents' slides, and each kind of statement.
#include "ocannl/train/graph/code.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSgdOne[] = R"(
    ~~(p "param sgd step";
       { sgd_delta } =: p.grad + (!.weight_decay *. p);
       if Float.(momentum > 0.0) then (
         { sgd_momentum } =:
           (!.momentum *. sgd_momentum) + sgd_delta;
         if nesterov then sgd_delta =+ !.momentum *. sgd_momentum
         else sgd_delta =: sgd_momentum);
       p =- learning_rate * sgd_delta ~logic:"."))";

constexpr char kGradUpdate[] = R"(
    ~~(loss "forward and gradient update";
       (* Include the forward code. *)
       loss.forward;
       ~~(loss "zero grads and backprop";
          loss.zero_grads; loss.grad =: 1; loss.backprop)))";

class CodeTest : public testing::Test {
 protected:
  Tensor Parse(const std::string& text) {
    return MustParseTensor(model_.graph, text, names_);
  }

  void Name(const std::string& name, const std::string& text) {
    names_.tensors.insert_or_assign(name,
                                    Named(Parse(text), std::string(name)));
  }

  train::UpdateCode Code(const std::string& text) {
    auto code = train::ParseCode(model_, text, names_);
    CHECK_OK(code);
    return *std::move(code);
  }

  std::string Error(const std::string& text) {
    return std::string(
        train::ParseCode(model_, text, names_).status().message());
  }

  Routine Link(const Context& context, const Assignments& code) {
    auto routine = ToRoutine(context, code, {});
    CHECK_OK(routine);
    return *std::move(routine);
  }

  std::vector<float> Values(const Context& context, const std::string& name) {
    auto array = context.Read(name);
    CHECK_OK(array);
    absl::Span<const float> values = array->values<float>();
    return {values.begin(), values.end()};
  }

  // `name` after the code of `text`, which it sets.
  std::vector<float> Run(const std::string& text, const std::string& name) {
    train::UpdateCode code = Code(text);
    code.update.name = "code";
    CHECK(Keep(code.update, name).ok());
    Routine routine = Link(host_.context, code.update);
    CHECK_OK(routine.Run());
    return Values(routine.context(), name);
  }

  train::Model model_;
  Names names_;
  TestDevice host_;
};

struct Descent {
  train::SgdOptions options;
  float after;  // two steps from 1 by the gradient 2 w: see train_test
};

class SlidesTest : public CodeTest,
                   public testing::WithParamInterface<Descent> {};

TEST_P(SlidesTest, DescendAsTheLibraryDoes) {
  const train::SgdOptions& options = GetParam().options;
  names_.numbers = {{"momentum", options.momentum},
                    {"weight_decay", options.weight_decay},
                    {"nesterov", options.nesterov}};
  Name("loss", "{w = 1; o=[1]} *. w");
  names_.tensors.emplace("p", Tensor(names_.tensors.at("w")));
  names_.tensors.emplace("learning_rate", Number(model_.graph, 0.125));
  auto init = train::InitParams(model_, names_.tensors.at("loss"));
  CHECK_OK(init);
  train::UpdateCode gradient = Code(kGradUpdate);
  train::UpdateCode sgd = Code(kSgdOne);
  Routine start =
      Link(host_.context, train::Sequence("init", {*init, sgd.init}));
  CHECK_OK(start.Run());
  Routine step = Link(start.context(),
                      train::Sequence("step", {gradient.update, sgd.update}));
  for (int k = 0; k < 2; ++k) CHECK_OK(step.Run());
  EXPECT_THAT(Values(step.context(), "w"), ElementsAre(GetParam().after));
}

INSTANTIATE_TEST_SUITE_P(
    All, SlidesTest,
    testing::Values(Descent{{}, 0.5625}, Descent{{.weight_decay = 2}, 0.25},
                    Descent{{.momentum = 0.5}, 0.4375},
                    Descent{{.momentum = 0.5, .nesterov = true}, 0.328125}));

TEST_F(CodeTest, ASpecLeavesTheRest) {
  int number = 0;
  auto after = [&](absl::string_view first, absl::string_view statement) {
    const std::string y = absl::StrCat("y", number++);
    return Run(absl::StrCat("{ ", y, " } =: ", first, "; ", y, " ", statement),
               y);
  };
  const std::string six = "[1; 2; 3; 4; 5; 6]";
  EXPECT_THAT(after(six, "=: [10; 20; 30] ~logic:\"i => 2*i\""),
              ElementsAre(10, 2, 20, 4, 30, 6));
  EXPECT_THAT(after(six, "=: [10; 20; 30] ~logic:\"i => 2*i+1\""),
              ElementsAre(1, 10, 3, 20, 5, 30));
  EXPECT_THAT(after(six, "=:+ [10; 20; 30] ~logic:\"i => 2*i+1\""),
              ElementsAre(0, 10, 0, 20, 0, 30));
  EXPECT_THAT(after(six, "=+ [10; 20; 30] ~logic:\"i => 2*i\""),
              ElementsAre(11, 2, 23, 4, 35, 6));
  EXPECT_THAT(after("[[1; 2]; [3; 4]]", "=: [5; 6] ~logic:\"i => i, 1\""),
              ElementsAre(1, 5, 3, 6));
  // Several terms, also outside of the array.
  EXPECT_THAT(
      after("[[1; 2]; [3; 4]]", "=: [[5; 6]; [7; 8]] ~logic:\"i, j => i, 1\""),
      ElementsAre(1, 11, 3, 15));
  EXPECT_THAT(after(six, "=: [[10; 20]; [30; 40]] ~logic:\"o,k => 3*o+k\""),
              ElementsAre(20, 2, 30, 40, 5, 6));
  // Repeated.
  EXPECT_THAT(
      after("[[1; 2; 3; 4]; [5; 6; 7; 8]]", "=: [10; 20] ~logic:\"i => 2*i\""),
      ElementsAre(10, 2, 20, 4, 10, 6, 20, 8));
  // Parts, one after the other.
  EXPECT_THAT(after("[[1; 2]; [3; 4]; [5; 6]]",
                    "=: [7; 8] ++^ \"i; j => i^j\" [9] "
                    "~logic:\"i; j => i^j, 1\""),
              ElementsAre(1, 7, 3, 8, 5, 9));
  // What is declared has no rest.
  EXPECT_THAT(Run("{ new } =: [10; 20] ~logic:\"i => 2*i\"", "new"),
              ElementsAre(10, 0, 20, 0));
}

TEST_F(CodeTest, GradUpdateIsThatOfTheLibrary) {
  Name("loss", "relu({w; o=[2]} * {x = 1; o=[3]}) ++ \"...|... => 0\"");
  train::UpdateCode code = Code(kGradUpdate);
  model_.computed_by = {};
  auto library = train::GradUpdate(model_, names_.tensors.at("loss"));
  CHECK_OK(library);
  code.update.name = library->name;
  EXPECT_EQ(PrintCd(code.update), PrintCd(*library));
}

TEST_F(CodeTest, SgdOneSays) {
  names_.numbers = {{"momentum", 0.5}, {"weight_decay", 0}, {"nesterov", 0}};
  Name("loss", "{w = 1; o=[1]} *. w");
  names_.tensors.emplace("p", Tensor(names_.tensors.at("w")));
  names_.tensors.emplace("learning_rate", Number(model_.graph, 0.125));
  model_.graph.Rename(names_.tensors.at("learning_rate").id, "rate");
  auto no_places = [](const Array&) { return ""; };
  EXPECT_EQ(PrintCd(Code(kSgdOne).update, no_places), R"(w_code ():
  w.grad : f32[1];
  sgd_delta_w.1 : f32[] effectively_constant "a number";
  w : f32[1] on_device "a parameter";
  sgd_delta_w.2 : f32[1];
  sgd_delta_w : f32[1];
  sgd_momentum_w.3 : f32[] effectively_constant "a number";
  sgd_momentum_w : f32[1] on_device "reads its value of the last run";
  sgd_momentum_w.4 : f32[1];
  rate : f32[] materialized "the result of Forward";
  /* w param sgd step */
  sgd_delta_w.1 =: 0;
  sgd_delta_w.2 =: sgd_delta_w.1 * w ~logic:".";
  sgd_delta_w =: w.grad + sgd_delta_w.2;
  sgd_momentum_w.3 =: 0.5;
  sgd_momentum_w.4 =: sgd_momentum_w.3 * sgd_momentum_w ~logic:".";
  sgd_momentum_w =: sgd_momentum_w.4 + sgd_delta_w;
  sgd_delta_w =: sgd_momentum_w;
  /* rate fwd */
  rate =: 0.125;
  w =- rate * sgd_delta_w ~logic:".";
)");
}

TEST_F(CodeTest, SetsAndAccumulates) {
  EXPECT_THAT(Run("{ a } =: [1; 2]; a =+ [10; 20]", "a"), ElementsAre(11, 22));
  EXPECT_THAT(Run("{ b } =: [1; 2]; b =- 5", "b"), ElementsAre(-4, -3));
  EXPECT_THAT(Run("{ c } =: [1; 2]; c =* [10; 20]", "c"), ElementsAre(10, 40));
  EXPECT_THAT(Run("{ d } =: [1; 2]; d =/ 2", "d"), ElementsAre(0.5, 1));
  EXPECT_THAT(Run("{ e } =: [1; 9]; e =@^ [5; 5]", "e"), ElementsAre(5, 9));
  EXPECT_THAT(Run("{ f } =: [1; 9]; f =@- [5; 5]", "f"), ElementsAre(1, 5));
  EXPECT_THAT(Run("{ g } =: [1; 9]; g =:+ [5; 6]", "g"), ElementsAre(5, 6));
  EXPECT_THAT(Run("{ h } =: [1; 9]; h =:@^ [-5; -6]", "h"),
              ElementsAre(-5, -6));
  EXPECT_THAT(Run("{ i } =: [1; 9]; i =: 7", "i"), ElementsAre(7, 7));
  EXPECT_THAT(Run("\"j\" =: [1; 2]; j =* j", "j"), ElementsAre(1, 4));
}

TEST_F(CodeTest, OneCellIsOneCellWhateverItsAxes) {
  Name("s", "stretch(7) ++ \"i => \"");
  EXPECT_THAT(Run("{ half } =: 0.5; s =: 2; s =+ half", "s"), ElementsAre(2.5));
}

TEST_F(CodeTest, LogicSaysHowAxesMeet) {
  const std::string a = "{ a } =: [(1, 2); (3, 4)]; { b } =: [10; 20]; ";
  EXPECT_THAT(Run(a + "{ c } =:+ a * b", "c"), ElementsAre(50, 110));
  EXPECT_THAT(Run(a + "{ d } =:+ a * b ~logic:\"@\"", "d"),
              ElementsAre(50, 110));
  EXPECT_THAT(Run(a + "{ e } =: [1; 2]; e =- a * b ~logic:\"@\"", "e"),
              ElementsAre(-49, -108));
  EXPECT_THAT(Run(a + "{ f } =: -a ~logic:\"T\"", "f"),
              ElementsAre(-1, -3, -2, -4));
  EXPECT_THAT(Run(a + "{ g } =:@^ a + b ~logic:\"i->j; j => i\"", "g"),
              ElementsAre(23, 24));
  EXPECT_THAT(Run(a + "{ h } =:+ b * b ~logic:\".\"", "h"),
              ElementsAre(100, 400));
  EXPECT_THAT(Run(a + "{ k } =: 12; k =/ -a ~logic:\"i->j => 0\"", "k"),
              ElementsAre(0.5));
  const std::string sums = "cumulative_sum(\"...->..., i\", ";
  EXPECT_THAT(Run(a + "{ l } =:+ " + sums + "a) ~logic:\"i->j => j\"", "l"),
              ElementsAre(3, 10));
  EXPECT_THAT(Run("{ m } =: [1; 2; 3]; m =+ cumulative_sum(\"i\", m)", "m"),
              ElementsAre(2, 5, 9));
}

TEST_F(CodeTest, CommentsNestAndAreNoStrings) {
  EXPECT_THAT(Run("(* a (* b *) \" *) { a } =: 1 (* ; *); a =+ 1", "a"),
              ElementsAre(2));
  EXPECT_EQ(Error("{ a } =: 1;\n(* (* *)"),
            "line 2, column 1: a comment without its `*)`");
}

TEST_F(CodeTest, WindowsAreSubtracted) {
  EXPECT_THAT(Run("{ a } =: [1; 2; 3]; { b } =: [1; 1; 1]; { w } =: [1; 1]; "
                  "a =- b * w ~logic:\"o; k => o=+k\"",
                  "a"),
              ElementsAre(-1, 0, 2));
}

TEST_F(CodeTest, BlocksSayWhatIsOneComment) {
  EXPECT_THAT(PrintCd(Code("~~(\"a */ b\" \"\nc\"; { a } =: 1)").update),
              HasSubstr("\n  /* a * / b c */\n  a =: 1;\n"));
}

TEST_F(CodeTest, ChoicesTakeNumbers) {
  names_.numbers = {{"n", 2}};
  EXPECT_THAT(Run("{ a } =: 1; if n >= 2 then a =+ 1 else a =+ 5", "a"),
              ElementsAre(2));
  EXPECT_THAT(Run("{ b } =: 1; if n <> 2 then b =+ 1", "b"), ElementsAre(1));
  EXPECT_THAT(Error("if m then { b } =: 1"), HasSubstr("no number `m`"));
}

TEST_F(CodeTest, LoopsAreOverLists) {
  // a and b are of 3->2.
  Name("loss",
       "{a = 1; o=[2]} *. {b = 2; i=[3]; o=[2]} ++ \"...|...->... => 0\"");
  auto init = train::InitParams(model_, names_.tensors.at("loss"));
  CHECK_OK(init);
  CHECK_OK(Link(host_.context, *init).Run());
  names_.lists.emplace("all", std::vector<Tensor>{names_.tensors.at("a"),
                                                  names_.tensors.at("b")});
  EXPECT_THAT(Run("{ sum } =: 0; for p in all do sum =+ p ++ \"...|...->... => "
                  "0\"",
                  "sum"),
              ElementsAre(18));
  EXPECT_THAT(Run("{ ns } =: 0; for p in all do (ns =+ !.p.outputs; ns =+ 10 "
                  "*. !.p.inputs)",
                  "ns"),
              ElementsAre(64));
  // What a body declares is of its tensor, and not known behind the loop.
  const std::string twice = "for p in all do ({ t } =: p + 1; p =: t); ";
  EXPECT_THAT(Run(twice + "{ u } =: 1", "t_a"), testing::Each(2));
  EXPECT_EQ(Error(twice + "a =: t"),
            "line 1, column 48: no tensor `t`; put it into the names, or "
            "declare a parameter: {t}");
  EXPECT_EQ(Error("for p in some do p =: 1"),
            "line 1, column 10: no list `some`; put it into the names");
  EXPECT_THAT(Error("for p in all p =: 1"), HasSubstr("expected `do`"));
}

TEST_F(CodeTest, StatesAreZerosAtFirstAndStay) {
  Name("loss", "{w = 1; o=[2]} *. w ++ \"...|... => 0\"");
  train::UpdateCode count = Code("~~(w; { n } like w; n =: n + 1)");
  count.update.name = "count";
  train::UpdateCode later = Code("{ twice } =: 2 *. w.n");
  later.update.name = "later";
  CHECK_OK(Keep(later.update, "twice"));
  CHECK_OK(Link(host_.context, train::Sequence("init", {count.init})).Run());
  Routine step = Link(host_.context, count.update);
  for (int k = 0; k < 3; ++k) CHECK_OK(step.Run());
  EXPECT_THAT(Values(host_.context, "n_w"), ElementsAre(3, 3));
  Routine read = Link(host_.context, later.update);
  CHECK_OK(read.Run());
  EXPECT_THAT(Values(host_.context, "twice"), ElementsAre(6, 6));
  EXPECT_EQ(Error("~~(w; { w } like w.grad)"),
            "line 1, column 9: there is an array `w` already; give the new "
            "one another name");
  EXPECT_EQ(Error("{ m } like v"),
            "line 1, column 12: no tensor `v`; put it into the names, or "
            "declare it: { v } =: ...");
  EXPECT_THAT(Error("{ twice } =: 2 *. w.m"), HasSubstr("no tensor `w.m`"));
}

// The store rounds, once; what is computed in another way is an error.
TEST_F(CodeTest, NarrowArraysTakeWhatTheyAreComputedAs) {
  Name("h", "{h: f16 = 1:f16; o=[1]}");
  EXPECT_EQ(Error("{ x } =: f64(h); h =: x"),
            "line 1, column 18: the value is f64 and `h` f16; write f16(...)");
  auto init = train::InitParams(model_, names_.tensors.at("h"));
  CHECK_OK(init);
  CHECK_OK(Link(host_.context, *init).Run());
  // In f16, 1 + 0.0004 is 1; in f32 the sum of two is above the half of 2^-10.
  train::UpdateCode code = Code("{ x } =: widen(h) + 0.0004 + 0.0004; h =: x");
  code.update.name = "code";
  Routine routine = Link(host_.context, code.update);
  CHECK_OK(routine.Run());
  EXPECT_EQ(host_.context.Read("h")->AsDouble(0), 1 + 0x1p-10);
}

TEST_F(CodeTest, ErrorsSayWhereAndWhat) {
  Name("x", "[1; 2; 3]");
  EXPECT_EQ(Error("y =: 1"),
            "line 1, column 1: no tensor `y`; put it into the names, or "
            "declare it: { y } =: ...");
  EXPECT_THAT(Error("{ a } =: 1;\n  a =+ x + z"),
              HasSubstr("line 2, column 12: no tensor `z`"));
  EXPECT_THAT(Error("{ a } =: [1; 2];\na =+ x"),
              HasSubstr("line 2, column 1: "));
  EXPECT_EQ(
      Error("{ a } =: 1; { a } =: 2"),
      "line 1, column 15: there is an array `a` already; write it without "
      "braces or quotes");
  EXPECT_EQ(Error("\"a b\" =: 1"),
            "line 1, column 1: `a b` is no name; write letters, digits and "
            "`_`");
  EXPECT_THAT(Error("\"1\" =: 1"), HasSubstr("`1` is no name"));
  EXPECT_THAT(Error("\"(\" =: 1"), HasSubstr("`(` is no name"));
  EXPECT_THAT(Error("{ a } =: 1 ~projections"),
              HasSubstr("column 3: ~projections are those of an operation"));
  EXPECT_EQ(Error("x.grad =: 1"), "line 1, column 1: `x` has no gradient");
  EXPECT_EQ(Error("{ a } =: 1; a =: 2:i32"),
            "line 1, column 13: the value is i32 and `a` f32; write f32(...)");
  EXPECT_EQ(Error("{ a } =: 1:u8; a =+ -2.5"),
            "line 1, column 16: `a` is u8, which does not hold -2.5; write "
            "another number");
  EXPECT_EQ(Error("{ a } =: 1; a =: 1e300"),
            "line 1, column 13: `a` is f32, which does not hold 1e300; write "
            "another number");
  Code("{ a } =: 1e300:f64; a =+ 1e-300; { b } =: 1:u8; b =- u8(2.5)");
  EXPECT_EQ(Error("{ a } =: 1; a =@^ x ++ \"i => 0\""),
            "line 1, column 13: the value accumulates by `+` and the "
            "assignment by `max`; declare an array for the value");
  EXPECT_EQ(Error("{ a } =: x / x ~logic:\"@\""),
            "line 1, column 3: ~logic:\"@\" is for two operands and no `/` or "
            "`**.`, and for fma; write \".\" or a spec");
  EXPECT_THAT(Error("{ a } =: 1 ~logic:@"), HasSubstr("in quotes"));
  EXPECT_THAT(Error("~~(x \"c\"; { a } =: 1"),
              HasSubstr("expected `;` or `)`"));
  EXPECT_THAT(Error("{ a } =:"), HasSubstr("expected an expression"));
  EXPECT_THAT(Error("x"), HasSubstr("expected an assignment"));
  EXPECT_THAT(Error(std::string(500, '(')), HasSubstr("nested too deeply"));
}

// A wrong text consumes nothing.
TEST_F(CodeTest, AnErrorLeavesTheModel) {
  Name("loss", "{w = 1; o=[1]} *. w");
  EXPECT_THAT(Error("loss.forward; loss.backprop; z =: 1"),
              HasSubstr("no tensor `z`"));
  Code(kGradUpdate);
}

}  // namespace
}  // namespace ocannl
