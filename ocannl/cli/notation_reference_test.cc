// SPDX-License-Identifier: Apache-2.0
//
// Holds NOTATION.md, the reference of the notation and of specs, to the tables
// that it is read with and to what its examples give. To write it:
//
//   bazel run //ocannl/cli:notation_reference_test -- --update
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ocannl/cli/test_notation_page.h"
#include "ocannl/cli/tool.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/notation/function.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/ops/op.h"
#include "tests/support/reference_page.h"

namespace ocannl {
namespace {

struct Example {
  std::string about;
  std::vector<std::string> args;  // of the tool
};

const std::vector<Example>& ExpressionExamples() {
  static const auto* examples = new std::vector<Example>{
      {"`*` multiplies tensors, `*.` elements; parameters are as large as "
       "their "
       "uses want.",
       {"eval", "{w = 1} * x *. 2 + {b = 0.5; o=[2]}", "--in=x=1,2,3:3"}},
      {"Parameters, arrays and numbers without a dtype have that of what they "
       "meet; alone they are f32. A conversion has all digits that are "
       "written: `f64(0.1)`, `i64(9007199254740993)`.",
       {"eval", "relu({w = 0.1} + {b = 1}) +* \"i; i => 0\" f16(x)",
        "--in=x=range:2"}},
      {"A parameter of `uint4x32`, blocks of four random words, is u32 with a "
       "last axis of four.",
       {"eval", "{b: uint4x32 = 7; o=[2]}"}},
      {"`uniform()` is random in [0, 1), `normal()` has mean 0 and variance 1. "
       "Each call draws other numbers, and so does each value of a static "
       "index `step`, or of the counter of `uniform_at(counter)`. Without "
       "these, each run draws the same. They are made of words of "
       "`threefry_crypto`; those of `threefry_light` depend on their "
       "neighbours.",
       {"eval", "(uniform() - uniform()) + x", "--in=x=0,0:2"}},
      {"The bracket says the kind of an axis.",
       {"eval", "[(1, 2, 3); (4, 5, 6)] * x", "--in=x=1,0,2:3"}},
      {"Sizes of 1 that nobody gave broadcast.",
       {"eval", "x /. (x ++ \"...|... => ...|0\")", "--in=x=range+1:2|3"}},
      {"A number has no axes of its own.",
       {"eval", "(x ++ \"i => \") + 1", "--in=x=range:3"}},
      {"A function of tensors has its parameters once.",
       {"eval", "let f x = {w = 2} *. x + 1 in f (f x)", "--in=x=range:3"}},
      {"Labelled arguments; a name may be given again.",
       {"eval",
        "let sq_error ~output ~target = (output - target) **. 2 in\n"
        "let output = 2 *. x in sq_error ~target:y ~output",
        "--in=x=range:3", "--in=y=range:3"}},
      {"Comparisons count as 0 and 1.",
       {"eval", "(x > 0) *. x + (x = 2) *. 10", "--in=x=range-1:4"}},
      {"A block stacks tensors along a new axis.",
       {"eval", "[(x, y); (y, x)]", "--in=x=1,2:2", "--in=y=3,4:2"}},
      {"Captured sizes, and a 0 in front.",
       {"eval", "(x ++ \"i^1 => 1^i\") + (x ++ \"i => \" [\"i\"]) /. i",
        "--in=x=range:3"}},
      {"A sign in front of a power needs parentheses.",
       {"eval", "-x **. 2", "--in=x=range:3"}},
      {"`stretch` makes a result as large as its uses want.",
       {"eval", "stretch(x + 1) +* \"ij; ij => i\" y", "--in=x=range:3",
        "--in=y=range:2,3"}},
      {"Given sizes do not change.",
       {"eval", "x + y", "--in=x=range:3", "--in=y=range:4"}},
      {"An axis may have a basis; those of other bases do not go with it.",
       {"eval", "x + {c; o=[3]}", "--in=x=range:2,3 rgb"}},
      {"An error asks for sizes that nothing determines.",
       {"eval", "{w2} * relu ({w1} * x)", "--in=x=range:3"}}};
  return *examples;
}

const std::vector<Example>& IndexingExamples() {
  static const auto* examples = new std::vector<Example>{
      {"Rows of a table.",
       {"eval", "gather(\"v, d; b => b, d\", table, i32(ids))",
        "--in=table=[[1,2],[3,4],[5,6]]", "--in=ids=[2,0,2,7]"}},
      {"A table whose axes are input and output, as that of an embedding, and "
       "ids that are a batch.",
       {"eval", "gather(\"v->d; ...| => ...|d\", table, i32(ids))",
        "--in=table=range:3->2", "--in=ids=2,0:2|"}},
      {"Sums of rows by number.",
       {"eval", "scatter_add(\"b, d; b => v, d\", values, i32(ids), 3)",
        "--in=values=[[1,2],[3,4],[5,6]]", "--in=ids=[2,0,2]"}},
      {"How often each number is there.",
       {"eval", "scatter_add(\"b; b => v\", stretch(1), i32(ids), 4)",
        "--in=ids=[2,0,2]"}},
      {"A part of the last axis.",
       {"eval", "part(\"..., i\", x, 1, 2)", "--in=x=range:2,4"}},
      {"A part of the batch.",
       {"eval", "part(\"i|...\", x, 1, 1)", "--in=x=range:2|3"}},
      {"The even cells, and the odd ones.",
       {"eval",
        "stack(\"i, ...\", every_nth(\"i\", x, 2, 0), every_nth(\"i\", x, 2, "
        "1))",
        "--in=x=range:6"}},
      {"Pairs: the new axis is the last one.",
       {"eval", "stack(\"..., i\", x, y)", "--in=x=[1,2,3]", "--in=y=[4,5,6]"}},
      {"Cells in turn.",
       {"eval", "interleave(\"..., i\", x, y)", "--in=x=[1,2,3]",
        "--in=y=[4,5,6]"}},
      {"The greatest of each row.",
       {"eval", "argmax(\"..., i\", x)", "--in=x=[[1,3,2],[9,8,7]]"}},
      {"Sums so far.",
       {"eval", "cumulative_sum(\"..., i\", x)", "--in=x=[[1,3,2],[9,8,7]]"}},
      {"Whole numbers as rows.",
       {"eval", "one_hot(i32(ids), 3)", "--in=ids=[2,0]"}},
      {"The same cells in other axes.",
       {"eval", "reshape(\"3,_\", x)", "--in=x=range:2,3"}},
      {"A part that the axis does not have.",
       {"eval", "part(\"..., i\", x, 3, 2)", "--in=x=range:2,4"}}};
  return *examples;
}

const std::vector<Example>& SpecExamples() {
  static const auto* examples = new std::vector<Example>{
      {"A product of matrices, by batch.",
       {"eval", "a +* \"b|h->o; b|i->h => b|i->o\" b", "--in=a=range:2|2->1",
        "--in=b=range:2|3->2"}},
      {"All is summed; batches are kept.",
       {"eval", "x ++ \"...|... => ...|0\"", "--in=x=range:2|3"}},
      {"A row variable goes into another kind of row.",
       {"eval", "x ++ \"..v..|i => i, ..v..\"", "--in=x=range:2|3"}},
      {"A diagonal.", {"eval", "x ++ \"ii => i\"", "--in=x=range:3,3"}},
      {"A position is read, and written.",
       {"eval", "x ++ \"1, i => i, 2\"", "--in=x=range:2,3"}},
      {"The second of each two.",
       {"eval", "x ++ \"2*i+1 => i\"", "--in=x=range:6"}},
      {"Windows inside of an axis, 2 apart.",
       {"eval", "x +* \"2*o<+k; k => o\" [1; 10]", "--in=x=range:6"}},
      {"Centred windows; the greatest of 3, with names.",
       {"eval", "x @^^ \"row+k, c => row, c\" [\"k\" = 3]",
        "--in=x=range:4,2"}},
      {"An even window: cells `o - 1` and `o`; the left one is outside first.",
       {"eval", "x ++ \"o+k => o\" [\"k\" = 2]", "--in=x=1,10,100:3"}},
      {"Each window gives its gradient to the first of its greatest cells.",
       {"eval", "x @^^ \"o<+k => o\" [\"k\" = 3]", "--in=x=1,2,2,0,2:5",
        "--grad=x"}},
      {"A concatenation, and a part of one.",
       {"eval", "(x ++^ \"a; b => a^b\" y) ++ \"a^b => b\" [\"a\" = 1]",
        "--in=x=range:3", "--in=y=range:2"}},
      {"The size of a name is a number further on.",
       {"eval", "(x ++ \"...|i => ...|0\" [\"i\" : n]) /. n",
        "--in=x=range:2|4"}},
      {"Sizes that the operands leave open.",
       {"eval",
        "x +* \"i; i->..v..,o => ..v..,o\" [\"..v..\" = [2]; \"o\" = 2 * "
        "\"i\"] {w = 1}",
        "--in=x=range:2"}},
      {"A product of four tensors, or more: two at a time, in the order that "
       "costs least.",
       {"eval", "a +* \"ij; jk; kl; l => i\" b c d", "--in=a=range:2,2",
        "--in=b=range:2,3", "--in=c=range:3,2", "--in=d=1,2:2"}},
      {"An axis that only the result names needs a size.",
       {"eval", "x ++ \"i => ij\"", "--in=x=range:2"}},
      {"The axes of `...` do not broadcast.",
       {"eval", "x +* \"...ij; ...jk => ...ik\" y", "--in=x=range:2,3",
        "--in=y=range:5,3,4"}},
      {"Equal names are equally large.",
       {"eval", "x ++ \"ii => i\"", "--in=x=range:2,3"}},
      {"Windows fill the axis.",
       {"eval", "x +* \"2*o<+k; k => o\" [1; 1; 1]", "--in=x=range:6"}},
      {"One part at a time has cells.",
       {"eval", "x +* \"a; b => a^b\" x", "--in=x=range:2"}}};
  return *examples;
}

std::string ExampleText(const Example& example) {
  std::string command = "ocannl";
  for (const std::string& arg : example.args) {
    const bool plain = arg.find_first_of(" |>*\"([") == std::string::npos;
    absl::StrAppend(&command, " ", plain ? "" : "'", arg, plain ? "" : "'");
  }
  std::ostringstream out;
  RunTool(example.args, out, out);
  std::string text = absl::StrCat(command, "\n", out.str());
  while (absl::EndsWith(text, "\n")) text.pop_back();
  return absl::StrCat("\n", example.about, "\n\n    ",
                      absl::StrReplaceAll(text, {{"\n", "\n    "}}), "\n");
}

std::string MeaningOf(const InfixOperator& infix) {
  const std::string op =
      infix.op ? std::string(Info(*infix.op).text) : "the elements";
  switch (infix.form) {
    case InfixOperator::kPointwise:
      return absl::StrCat(op == infix.symbol ? "" : absl::StrCat("`", op, "` "),
                          "of each element");
    case InfixOperator::kLogical:
      return absl::StrCat("`", op, "` of each element, where not 0 is true");
    case InfixOperator::kSwapped:
      return absl::StrCat("`", op, "` of each element, the other way round");
    case InfixOperator::kCompose:
      return "product of tensors: input axes with output axes; as `*.` "
             "with what has no axes, such as a number";
    case InfixOperator::kFirst:
      return "`a`";
    case InfixOperator::kSecond:
      return "`b`";
    case InfixOperator::kNumbers:
      return "of two floats, such as `1.0`";
    case InfixOperator::kSlice:
      return "the element of the first batch axis at a static index";
    case InfixOperator::kReduceOne:
    case InfixOperator::kReducePair:
      return absl::StrCat(infix.accum == Op::kMax   ? "the greatest of "
                          : infix.accum == Op::kMin ? "the least of "
                                                    : "sum of ",
                          infix.op ? absl::StrCat("`a ", op, " b`") : op,
                          ", by a spec");
    case InfixOperator::kReduceMany:
      return infix.op ? "sum of the products of 2 to 64, by a spec"
                      : "concatenation, by a spec of any number of operands";
  }
  __builtin_unreachable();
}

// Weakest first.
std::string Operators() {
  std::set<std::string> rows;
  for (absl::string_view symbol : NotationSymbols()) {
    const InfixOperator* infix = FindInfix(symbol);
    if (infix == nullptr) continue;
    // A pipe ends a cell of a table.
    std::string text = absl::StrReplaceAll(symbol, {{"|", "\\|"}});
    rows.insert(absl::StrCat(
        "| ", infix->precedence < 10 ? " " : "", infix->precedence, " | `",
        text, "` | ", absl::StrReplaceAll(MeaningOf(*infix), {{"|", "\\|"}}),
        " |\n"));
  }
  return absl::StrCat(
      "The infix operators, weakest first; they associate to the left, but "
      "`**.`, `@^` and `@-`.\n\n| strength | operator | meaning "
      "|\n|---|---|---|\n",
      absl::StrJoin(rows, ""));
}

std::string Functions() {
  constexpr size_t kColumns = 80;
  std::string list, line = "   ";
  for (const std::string& name : FunctionNames()) {
    const Function* function = FindFunction(name);
    CHECK(function != nullptr);
    std::string count = absl::StrCat(function->min_args);
    if (function->max_args != function->min_args) {
      absl::StrAppend(&count, "-", function->max_args);
    }
    const std::string text = absl::StrCat(" ", name, "/", count);
    if (line.size() + text.size() > kColumns) {
      absl::StrAppend(&list, line, "\n");
      line = "   ";
    }
    line += text;
  }
  return absl::StrCat(
      "\nThe functions, each with the number of its arguments. The scalar "
      "functions are those of [core/ops](core/ops/README.md); a dtype "
      "converts.\n\n",
      list, line, "\n");
}

std::string Page() {
  std::string page = absl::StrCat(kHead, Operators(), Functions());
  for (const Example& e : ExpressionExamples()) page += ExampleText(e);
  page += kSpecs;
  for (const Example& e : SpecExamples()) page += ExampleText(e);
  page += kIndexing;
  for (const Example& e : IndexingExamples()) page += ExampleText(e);
  return page;
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ReferencePageMain(argc, argv, "ocannl/NOTATION.md",
                                   "//ocannl/cli:notation_reference_test",
                                   ocannl::Page());
}
