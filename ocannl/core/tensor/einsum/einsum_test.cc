// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/einsum/einsum.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

EinsumRow ResultRow(absl::string_view text, RowKind kind) {
  absl::StatusOr<EinsumSpec> spec = ParseEinsum(text, 1);
  EXPECT_THAT(spec, IsOk());
  return spec.ok() ? spec->result[static_cast<int>(kind)] : EinsumRow();
}

TEST(ParseEinsum, TakesLettersForAxes) {
  EinsumRow row = ResultRow("=> abc", RowKind::kOutput);
  EXPECT_EQ(row.begin,
            (std::vector<EinsumAxis>{{.name = "a"}, {.name = "b"}, {"c"}}));
  EXPECT_FALSE(row.variable.has_value());
}

TEST(ParseEinsum, TakesDigitRunsForPositions) {
  EinsumRow row = ResultRow("=> i10j", RowKind::kOutput);
  ASSERT_EQ(row.size(), 3);
  EXPECT_TRUE(row.begin[1].is_position());
  EXPECT_EQ(row.begin[1].position, 10);
}

TEST(ParseEinsum, SplitsRowsByKind) {
  EinsumRow batch = ResultRow("=> b|i->o", RowKind::kBatch);
  EinsumRow input = ResultRow("=> b|i->o", RowKind::kInput);
  EinsumRow output = ResultRow("=> b|i->o", RowKind::kOutput);
  EXPECT_EQ(batch.begin[0].name, "b");
  EXPECT_EQ(input.begin[0].name, "i");
  EXPECT_EQ(output.begin[0].name, "o");
}

TEST(ParseEinsum, TellsTheEllipsesOfKindsApart) {
  EXPECT_EQ(ResultRow("=> ...|", RowKind::kBatch).variable, "...batch");
  EXPECT_EQ(ResultRow("=> ...->", RowKind::kInput).variable, "...input");
  EXPECT_EQ(ResultRow("=> a...b", RowKind::kOutput).variable, "...output");
  EXPECT_EQ(ResultRow("=> a..v..b", RowKind::kOutput).variable, "v");
  EXPECT_EQ(ResultRow("=> a..v..b", RowKind::kOutput).end[0].name, "b");
}

TEST(ParseEinsum, ACommaAllowsLongNames) {
  EinsumRow row = ResultRow("=> row, ..rest.., col1,", RowKind::kOutput);
  EXPECT_EQ(row.begin[0].name, "row");
  EXPECT_EQ(row.variable, "rest");
  EXPECT_EQ(row.end[0].name, "col1");
  EXPECT_EQ(ResultRow("=> row col", RowKind::kOutput).size(), 6);
}

TEST(ParseEinsum, PrintsWhatItReadsBack) {
  for (const char* text : {"b|i->o => o|b->i",
                           "ab|cd->ef => cf|ae->db",
                           "...|i->1 => ...|i",
                           "...b|...i->...o => ...i|...o->...b",
                           "..v..|...ijk => ..v..kji",
                           "row, col => col, row",
                           "row => row,",
                           "1, 2 => _",
                           " => ",
                           "oh, ..ic.. => ...|oh, ..ic..",
                           "a_ => _",
                           "i0j => ",
                           "oh<+kh => oh",
                           "2*oh+3*kh, x => 0",
                           "i => 3*i+2",
                           "a^b => a",
                           "2*o<+1+k => o",
                           "1<2*o+3*k<0 => o",
                           "0<o+k<=2 => o",
                           "2*o<=+3*k => o"}) {
    absl::StatusOr<EinsumSpec> spec = ParseEinsum(text, 1);
    ASSERT_THAT(spec, IsOk()) << text;
    EXPECT_EQ(ToString(*spec), text);
    EXPECT_THAT(ParseEinsum(ToString(*spec), 1), IsOkAndHolds(*spec)) << text;
  }
}

TEST(ParseEinsum, ReadsEmptyRows) {
  EXPECT_THAT(ParseEinsum("...|... => |->0", 1),
              IsOkAndHolds(*ParseEinsum("...|...=>0", 1)));
}

struct Wrong {
  const char* text;
  int operands;
  const char* message;
};

TEST(ParseEinsum, SaysWhatIsWrong) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"ij", 1,
            "the spec \"ij\" is wrong: it needs one `=>` between the operands "
            "and the result"},
           {"i => j => k", 1,
            "the spec \"i => j => k\" is wrong: it needs one `=>` between the "
            "operands and the result"},
           {"i => i", 2,
            "the spec \"i => i\" is wrong: it has 1 operand(s) where the "
            "operation has 2"},
           {"a|b|c => a", 1,
            "the spec \"a|b|c => a\" is wrong: it has two `|` in one operand"},
           {"a->b->c => a", 1,
            "the spec \"a->b->c => a\" is wrong: it has two `->` in one "
            "operand"},
           {"...a... => a", 1,
            "the spec \"...a... => a\" is wrong: it has two row variables in "
            "one row"},
           {"..v => v", 1,
            "the spec \"..v => v\" is wrong: the row variable `v` lacks its "
            "closing dots; write `..v..`"},
           {"..v..v => 0", 1,
            "the spec \"..v..v => 0\" is wrong: `v` is both an axis and a row "
            "variable; rename one of them"},
           {"a, b c => 0", 1,
            "the spec \"a, b c => 0\" is wrong: `c` is unexpected; as names "
            "may be long here, put commas between all axes"},
           {"...ij, k => 0", 1,
            "the spec \"...ij, k => 0\" is wrong: `i` is unexpected; as names "
            "may be long here, put commas between all axes"},
           {"a?b => 0", 1, "the spec \"a?b => 0\" is wrong: `?` is unexpected"},
           {"0<o+k => o", 1,
            "the spec \"0<o+k => o\" is wrong: in its axis `0<o+k`: it ends "
            "too early"},
           {"0<2*o+1+k<0 => o", 1,
            "the spec \"0<2*o+1+k<0 => o\" is wrong: in its axis "
            "`0<2*o+1+k<0`: its paddings say where the windows start; leave "
            "out the offset"},
           {"0<o<1 => o", 1,
            "the spec \"0<o<1 => o\" is wrong: in its axis `0<o<1`: `=` and "
            "`<` say what windows do at the ends of an axis, but it has no "
            "window; write, such as, `oh<+kh`"},
           {"i99999999999999999999 => i", 1,
            "the spec \"i99999999999999999999 => i\" is wrong: its position "
            "99999999999999999999 is too large"},
       }) {
    EXPECT_THAT(ParseEinsum(wrong.text, wrong.operands),
                StatusIs(absl::StatusCode::kInvalidArgument, wrong.message));
  }
}

TEST(ParseEinsum, ReadsWindows) {
  auto axis = [](absl::string_view text) {
    EinsumRow row = ResultRow(absl::StrCat("=> ", text), RowKind::kOutput);
    return row.begin.empty() ? EinsumAxis() : row.begin[0];
  };
  EXPECT_EQ(axis("2*o"), (EinsumAxis{.name = "o", .stride = 2}));
  EXPECT_EQ(axis("2 * o + 1"),
            (EinsumAxis{.name = "o", .stride = 2, .offset = 1}));
  const EinsumAxis window = {
      .name = "oh", .stride = 3, .offset = 1, .kernel = "kh", .dilation = 2};
  EXPECT_EQ(axis("3*oh+1+2*kh"), window);
  EXPECT_EQ(axis("3*oh=+1+2*kh"), window);
  EinsumAxis valid = window;
  valid.fit = WindowFit::kExact;
  EXPECT_EQ(axis("3*oh< + 1 + 2*kh"), valid);
  const EinsumAxis padded = {.name = "oh",
                             .stride = 3,
                             .kernel = "kh",
                             .dilation = 2,
                             .fit = WindowFit::kFloor,
                             .before = 0,
                             .after = 12};
  EXPECT_EQ(axis("0<3*oh+2*kh<12"), padded);
  EXPECT_EQ(axis("0 < 3*oh + 2*kh < 12"), padded);
  EinsumAxis up = padded;
  up.fit = WindowFit::kCeil;
  EXPECT_EQ(axis("0<3*oh+2*kh<=12"), up);
  EXPECT_EQ(axis("o<=+k"),
            (EinsumAxis{.name = "o", .kernel = "k", .fit = WindowFit::kSame}));
  EXPECT_EQ(axis("a^b^c"), (EinsumAxis{.name = "", .parts = {"a", "b", "c"}}));
}

TEST(ParseEinsum, NamesStandForNumbers) {
  EXPECT_THAT(ParseEinsum("stride*o+k => o", 1, {{"stride", 2}}),
              IsOkAndHolds(*ParseEinsum("2*o+k => o", 1)));
  EXPECT_THAT(ParseEinsum("p<o+k<q => o", 1, {{"p", 0}, {"q", 2}}),
              IsOkAndHolds(*ParseEinsum("0<o+k<2 => o", 1)));
  EXPECT_THAT(ParseEinsum("p<o+k<1 => o", 1, {{"p", -1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the spec \"p<o+k<1 => o\" is wrong: in its axis "
                       "`p<o+k<1`: `p` is -1, not a whole number from 0 to "
                       "65536"));
  EXPECT_THAT(ParseEinsum("s*o => o", 1, {{"s", 1.5}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the spec \"s*o => o\" is wrong: in its axis `s*o`: "
                       "`s` is 1.5, not a whole number from 1 to 65536"));
}

}  // namespace
}  // namespace ocannl
