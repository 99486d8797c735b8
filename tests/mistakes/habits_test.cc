// SPDX-License-Identifier: Apache-2.0
//
// What the hints about habits (core/notation/habits.def) propose to write: each
// expression in backquotes, with inputs of a fitting shape and its values,
// which NumPy gave. They hold on every tier of this machine, with the same
// bits. A second.
#include "ocannl/core/notation/habits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ocannl/cli/tool.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Proposal {
  const char* text;
  const char* inputs;          // NAME=VALUES, with blanks between
  std::vector<double> values;  // empty: random
};

const Proposal kProposals[] = {
    {"w * x", "w=range:3->2 x=[-2,0.5,3]", {6.5, 11}},
    {R"(a +* "ij; jk => ik" b)", "a=range:2,3 b=range:3,2", {10, 13, 28, 40}},
    {R"(a +* "i; j => ij" b)", "a=[1,2] b=[3,4,5]", {3, 4, 5, 6, 8, 10}},
    {R"(x ++ "ij => i")", "x=[[3,1,2],[6,5,4]]", {6, 15}},
    {"2 *. x", "x=[-2,0.5,3]", {-4, 1, 6}},
    {"x *. y", "x=[-2,0.5,3] y=[4,1,2]", {-8, 0.5, 6}},
    {"x /. y", "x=[-2,0.5,3] y=[4,1,2]", {-0.5, 0.5, 1.5}},
    {"x **. 2", "x=[-2,0.5,3]", {4, 0.25, 9}},
    {"x + y", "x=[-2,0.5,3] y=[4,1,2]", {2, 1.5, 5}},
    {"x - y", "x=[-2,0.5,3] y=[4,1,2]", {-6, -0.5, 1}},
    {R"(x ++ "ij => ji")", "x=[[3,1,2],[6,5,4]]", {3, 6, 1, 5, 2, 4}},
    {R"(w ++ "i->o => o->i")", "w=range:3->2", {0, 3, 1, 4, 2, 5}},
    {"floor(x /. 2)", "x=[-2,0.5,3]", {-1, 0, 1}},
    {"x % 2", "x=[-3,5,6]", {-1, 1, 0}},
    {"-x", "x=[-2,0.5,3]", {2, -0.5, -3}},
    {"x == y", "x=[-2,0.5,3] y=[-2,1,3]", {1, 0, 1}},
    {"x != y", "x=[-2,0.5,3] y=[-2,1,3]", {0, 1, 0}},
    {"x < y", "x=[-2,0.5,3] y=[4,1,2]", {1, 1, 0}},
    {"(x > 0) && (x < 1)", "x=[-2,0.5,3]", {0, 1, 0}},
    {"(x < 0) || (x > 1)", "x=[-2,0.5,3]", {1, 0, 1}},
    {"not(x > 0)", "x=[-2,0.5,3]", {1, 0, 0}},
    {"where(x > 0, x, 0)", "x=[-2,0.5,3]", {0, 0.5, 3}},
    {"let y = x + 1 in y *. 2", "x=[-2,0.5,3]", {-2, 3, 8}},
    {"let f x = x + 1 in f(x)", "x=[-2,0.5,3]", {-1, 1.5, 4}},
    {"(x + y) *. 2", "x=[-2,0.5,3] y=[4,1,2]", {4, 3, 10}},
    {"x + 1", "x=[-2,0.5,3]", {-1, 1.5, 4}},
    {"relu(x)", "x=[-2,0.5,3]", {0, 0.5, 3}},
    {"f64(x)", "x=[-2,0.5,3]", {-2, 0.5, 3}},
    {"1:f32", "", {1}},
    {"0.5", "", {0.5}},
    {"3.1415927", "", {3.1415927}},
    {"exp(1)", "", {2.7182818}},
    {"inf", "", {kInf}},
    {"nan", "", {kNaN}},
    {"bool(1)", "", {1}},
    {"bool(0)", "", {0}},
    {R"(x ++ "...|...->... => 0")", "x=[[3,1,2],[6,5,4]]", {21}},
    {R"((x ++ "...|...->... => 0") /. dim(x))", "x=[[3,1,2],[6,5,4]]", {3.5}},
    {R"(x @^^ "ij => i")", "x=[[3,1,2],[6,5,4]]", {3, 6}},
    {R"(x @^^ "...|...->... => 0")", "x=[[3,1,2],[6,5,4]]", {6}},
    {R"(x @-- "ij => i")", "x=[[3,1,2],[6,5,4]]", {1, 4}},
    {R"(x @-- "...|...->... => 0")", "x=[[3,1,2],[6,5,4]]", {1}},
    {R"(exp(log(x) ++ "...|...->... => 0"))", "x=[[3,1,2],[6,5,4]]", {720}},
    {R"(sqrt(square(x) ++ "...|...->... => 0"))", "x=[-2,0.5,3]", {3.6400549}},
    {R"(let m = (x ++ "...|...->... => 0") /. dim(x) in )"
     R"((square(x - m) ++ "...|...->... => 0") /. dim(x))",
     "x=[[3,1,2],[6,5,4]]",
     {2.9166667}},
    {R"(let m = (x ++ "...|...->... => 0") /. dim(x) in )"
     R"(sqrt((square(x - m) ++ "...|...->... => 0") /. dim(x)))",
     "x=[[3,1,2],[6,5,4]]",
     {1.7078251}},
    {R"(f32(x > 0) @^^ "...|...->... => 0")", "x=[-2,0.5,3]", {1}},
    {R"(f32(x > 0) @-- "...|...->... => 0")", "x=[-2,0.5,3]", {0}},
    {R"(f32(x != 0) ++ "...|...->... => 0")", "x=[0,2,3]", {2}},
    {R"(cumulative_sum("..., i", x))",
     "x=[[3,1,2],[6,5,4]]",
     {3, 4, 6, 6, 11, 15}},
    {R"(let m = x @^^ "...|v => ...|0" in )"
     R"(m + log(exp(x - m) ++ "...|v => ...|0"))",
     "x=[-2,0.5,3]",
     {3.0850972}},
    {R"(let e = exp(x - (x @^^ "...|v => ...|0")) in )"
     R"(e /. (e ++ "...|v => ...|0"))",
     "x=[-2,0.5,3]",
     {0.0061882853, 0.075388748, 0.91842297}},
    {R"(let d = x - (x @^^ "...|v => ...|0") in )"
     R"(d - log(exp(d) ++ "...|v => ...|0"))",
     "x=[-2,0.5,3]",
     {-5.0850972, -2.5850972, -0.085097246}},
    {R"(x @^^ "..., i => ...")", "x=[[3,1,2],[6,5,4]]", {3, 6}},
    {R"(argmax("..., i", x))", "x=[[3,1,2],[6,5,4]]", {0, 0}},
    {"minimum(maximum(x, 0), 1)", "x=[-2,0.5,3,nan]", {0, 0.5, 1, kNaN}},
    {"sat01(x)", "x=[-2,0.5,3]", {0, 0.5, 1}},
    {"f32(x > 0) - f32(x < 0)", "x=[-2,0,3]", {-1, 0, 1}},
    {"x != x", "x=[nan,1,inf]", {1, 0, 0}},
    {"abs(x) == inf", "x=[nan,1,-inf]", {0, 0, 1}},
    {"abs(x) < inf", "x=[nan,1,-inf]", {0, 1, 0}},
    {"where(x == x, x, 0)", "x=[nan,1,2]", {0, 1, 2}},
    {"abs(x)", "x=[-2,0.5,3]", {2, 0.5, 3}},
    {"log(x)", "x=[0.5,2,4]", {-0.69314718, 0.69314718, 1.3862944}},
    {"log2(x)", "x=[0.5,2,4]", {-1, 1, 2}},
    {"log10(x)", "x=[0.5,2,4]", {-0.30103, 0.30103, 0.60205999}},
    {"recip(x)", "x=[0.5,2,4]", {2, 0.5, 0.25}},
    {"asin(x)", "x=[-0.5,0,0.5]", {-0.52359878, 0, 0.52359878}},
    {"acos(x)", "x=[-0.5,0,0.5]", {2.0943951, 1.5707963, 1.0471976}},
    {"atan(x)", "x=[-0.5,0,0.5]", {-0.46364761, 0, 0.46364761}},
    {"round(x)", "x=[-1.7,1.2,2.5]", {-2, 1, 2}},
    {"trunc(x)", "x=[-1.7,1.2,2.5]", {-1, 1, 2}},
    {"x + 0.5 *. (y - x)", "x=[-2,0.5,3] y=[4,1,2]", {1, 0.75, 2.5}},
    {"where(x > 0, x, 0.01 *. x)", "x=[-2,0.5,3]", {-0.02, 0.5, 3}},
    {"where(x > 0, x, expm1(min(x, 0)))",
     "x=[-2,0.5,3]",
     {-0.86466472, 0.5, 3}},
    {"min(max(x, 0), 6)", "x=[-2,3,9]", {0, 3, 6}},
    {"gelu(x)", "x=[-2,0.5,3]", {-0.045500264, 0.34573123, 2.9959503}},
    {"gelu_tanh(x)", "x=[-2,0.5,3]", {-0.045402306, 0.34571401, 2.9963626}},
    {"silu(x)", "x=[-2,0.5,3]", {-0.23840584, 0.31122967, 2.8577224}},
    {"x *. tanh(softplus(x))",
     "x=[-2,0.5,3]",
     {-0.25250148, 0.37524521, 2.986535}},
    {"-softplus(-x)", "x=[-2,0.5,3]", {-2.126928, -0.47407698, -0.048587352}},
    {"x /. (1 + abs(x))", "x=[-2,0.5,3]", {-0.66666667, 0.33333333, 0.75}},
    {"softplus(x)", "x=[-2,0.5,3]", {0.12692801, 0.97407698, 3.0485874}},
    {R"(x ++ "0, ... => ...")", "x=[[3,1,2],[6,5,4]]", {3, 1, 2}},
    {R"(gather("v, d; b => b, d", x, i32(ids)))",
     "x=[[1,2],[3,4],[5,6]] ids=[2,0]",
     {5, 6, 1, 2}},
    {R"(part("i, ...", x, 1, 2))", "x=[[1,2],[3,4],[5,6]]", {3, 4, 5, 6}},
    {R"(every_nth("i, ...", x, 2, 0))",
     "x=[[1,2],[3,4],[5,6],[7,8]]",
     {1, 2, 5, 6}},
    {R"(x ++ "2, ... => ...")", "x=[[1,2],[3,4],[5,6]]", {5, 6}},
    {R"(x ++ "i => 0, i")", "x=[-2,0.5,3]", {-2, 0.5, 3}},
    {R"(x ++ "0, i => i")", "x=[[1,2,3]]", {1, 2, 3}},
    {R"(reshape("3,2", x))", "x=[[3,1,2],[6,5,4]]", {3, 1, 2, 6, 5, 4}},
    {R"(reshape("6", x))", "x=[[3,1,2],[6,5,4]]", {3, 1, 2, 6, 5, 4}},
    {R"(x ++ "i => ji" ["j" = 2])", "x=[-2,0.5,3]", {-2, 0.5, 3, -2, 0.5, 3}},
    {R"(gather("i; j => j", x, i32(2 - range(3))))",
     "x=[-2,0.5,3]",
     {3, 0.5, -2}},
    {R"(x ++^ "a; b => a^b" [0; 0])", "x=[-2,0.5,3]", {-2, 0.5, 3, 0, 0}},
    {R"(where((range(3) ++ "i => i, 0") >= )"
     R"((range(3) ++ "j => 0, j"), x, 0))",
     "x=range+1:3,3",
     {1, 0, 0, 4, 5, 0, 7, 8, 9}},
    {R"(x ++ "ii => i")", "x=range+1:3,3", {1, 5, 9}},
    {R"(x ++ "ii => 0")", "x=range+1:3,3", {15}},
    {R"(x ++^ "a; b => a^b" y)",
     "x=[-2,0.5,3] y=[4,1,2]",
     {-2, 0.5, 3, 4, 1, 2}},
    {R"(p ++^ "a, i; b, i => a^b, i" q)",
     "p=[[1,2]] q=[[3,4],[5,6]]",
     {1, 2, 3, 4, 5, 6}},
    {R"(stack("i, ...", x, y))",
     "x=[-2,0.5,3] y=[4,1,2]",
     {-2, 0.5, 3, 4, 1, 2}},
    {R"(part("..., i", x, 1, 2))", "x=[[3,1,2],[6,5,4]]", {1, 2, 5, 4}},
    {R"(every_nth("..., i", x, 2, 0))", "x=[[1,2,3,4]]", {1, 3}},
    {R"(scatter_add("b, d; b => v, d", x, i32(ids), 3))",
     "x=[[1,2],[3,4],[5,6]] ids=[2,0,2]",
     {3, 4, 0, 0, 6, 8}},
    {"one_hot(i32(ids), 3)", "ids=[2,0]", {0, 0, 1, 1, 0, 0}},
    {"dim(x)", "x=[[3,1,2],[6,5,4]]", {6}},
    {R"((x ++ "i => 0" ["i" : n]) /. n)", "x=[-2,0.5,3]", {0.5}},
    {R"(x +* "...|h+k, w+l, c; k, l, c->o => ...|h, w, o" kernel)",
     "x=range:4,4,1 kernel=1,1,1,1,1,1,1,1,1:3,3,1->1",
     {10, 18, 24, 18, 27, 45, 54, 39, 51, 81, 90, 63, 42, 66, 72, 50}},
    {R"(x @^^ "...|2*h<+k, 2*w<+l, c => ...|h, w, c" ["k" = 2; "l" = 2])",
     "x=range:4,4,1",
     {5, 7, 13, 15}},
    {R"((x ++ "...|2*h<+k, 2*w<+l, c => ...|h, w, c" )"
     R"(["k" = 2; "l" = 2]) /. 4)",
     "x=range:4,4,1",
     {2.5, 4.5, 10.5, 12.5}},
    {"range(3)", "", {0, 1, 2}},
    {"range(3) *. 0.5 + 1", "", {1, 1.5, 2}},
    {"0", "", {0}},
    {"1", "", {1}},
    {"one_hot(i32(range(3)), 3)", "", {1, 0, 0, 0, 1, 0, 0, 0, 1}},
    {"[1; 2; 3]", "", {1, 2, 3}},
    {"x + uniform()", "x=[-2,0.5,3]", {}},
    {"x + normal()", "x=[-2,0.5,3]", {}},
    {"x + floor(uniform() *. 6)", "x=[-2,0.5,3]", {}},
    {"f32(x)", "x=[-2,0.5,3]", {-2, 0.5, 3}},
    {"f16(x)", "x=[-2,0.5,3]", {-2, 0.5, 3}},
    {"bf16(x)", "x=[-2,0.5,3]", {-2, 0.5, 3}},
    {"f8e5m2(x)", "x=[-2,0.5,3]", {-2, 0.5, 3}},
    {"u8(x)", "x=[0,1,2]", {0, 1, 2}},
    {"u16(x)", "x=[0,1,2]", {0, 1, 2}},
    {"u32(x)", "x=[0,1,2]", {0, 1, 2}},
    {"u64(x)", "x=[0,1,2]", {0, 1, 2}},
    {"i32(x)", "x=[0,1,2]", {0, 1, 2}},
    {"i64(x)", "x=[0,1,2]", {0, 1, 2}},
    {"bool(x)", "x=[0,1,2]", {0, 1, 1}},
    {R"((square(x - y) ++ "...|...->... => 0") /. dim(x))",
     "x=[-2,0.5,3] y=[4,1,2]",
     {12.416667}},
    {R"((abs(x - y) ++ "...|...->... => 0") /. dim(x))",
     "x=[-2,0.5,3] y=[4,1,2]",
     {2.5}},
    {"stop_gradient(x)", "x=[-2,0.5,3]", {-2, 0.5, 3}},
};

std::vector<std::string> Tiers() {
  std::vector<std::string> tiers = {"interp"};
  for (jit::Isa isa : jit::kIsas) {
    if (jit::IsSupported(isa)) {
      tiers.push_back(absl::StrCat("x86-", jit::Name(isa)));
    }
  }
  return tiers;
}

// What the tool prints of it, "" and a failure on an error.
std::string Evaluate(const Proposal& proposal, const std::string& tier) {
  std::vector<std::string> args = {"eval", proposal.text, "--tier=" + tier};
  for (absl::string_view input :
       absl::StrSplit(proposal.inputs, ' ', absl::SkipEmpty())) {
    args.push_back(absl::StrCat("--in=", input));
  }
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunTool(args, out, err), 0) << proposal.text << "\n" << err.str();
  return out.str();
}

// The values below the first line.
std::vector<double> ValuesOf(const std::string& printed) {
  std::vector<double> values;
  const std::string rest = printed.substr(printed.find('\n') + 1);
  for (absl::string_view word :
       absl::StrSplit(rest, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    double value = word == "true" ? 1 : 0;
    const bool is_bool = word == "true" || word == "false";
    EXPECT_TRUE(is_bool || absl::SimpleAtod(word, &value)) << word;
    values.push_back(value);
  }
  return values;
}

TEST(HabitsTest, ProposalsGiveWhatTheyPromise) {
  const std::vector<std::string> tiers = Tiers();
  for (const Proposal& proposal : kProposals) {
    const std::string printed = Evaluate(proposal, tiers[0]);
    for (const std::string& tier : tiers) {
      EXPECT_EQ(Evaluate(proposal, tier), printed) << proposal.text;
    }
    if (proposal.values.empty()) continue;
    const std::vector<double> values = ValuesOf(printed);
    ASSERT_EQ(values.size(), proposal.values.size()) << proposal.text;
    for (size_t k = 0; k < values.size(); ++k) {
      const double wanted = proposal.values[k];
      const bool is_same = values[k] == wanted ||
                           (std::isnan(values[k]) && std::isnan(wanted)) ||
                           std::abs(values[k] - wanted) <=
                               1e-6 * std::max(1.0, std::abs(wanted));
      EXPECT_TRUE(is_same) << proposal.text << ", cell " << k << ": "
                           << values[k] << ", not " << wanted;
    }
  }
}

// A hint that proposes something has it in the table above, and the table has
// nothing else.
TEST(HabitsTest, EveryProposalIsTried) {
  std::set<std::string> tried;
  for (const Proposal& proposal : kProposals) tried.insert(proposal.text);
  std::set<std::string> proposed;
  for (absl::string_view text : HabitTexts()) {
    const std::vector<std::string> parts = absl::StrSplit(text, '`');
    EXPECT_EQ(parts.size() % 2, 1u) << text;
    for (size_t k = 1; k < parts.size(); k += 2) proposed.insert(parts[k]);
  }
  EXPECT_EQ(proposed, tried);
}

}  // namespace
}  // namespace ocannl
