// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/must_write.h"

#include <string>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

void Walk(const Block& block, MustWriteRegions& written) {
  for (const Stmt& stmt : block.stmts) {
    if (const For* loop = std::get_if<For>(&stmt)) {
      written.Enter(*loop);
      Walk(loop->body, written);
      written.Leave();
    } else if (const Set* set = std::get_if<Set>(&stmt)) {
      written.Write(set->target);
    } else if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
      written.WriteAll(zero->buffer);
    }
  }
}

// After `body`, a digit for each cell of `t`, 1 if it is written; s is a static
// index.
std::string Written(const std::string& buffer, const std::string& body) {
  const LoopProgram program =
      MustParse(absl::StrCat("p (s : [0..3]):\n ", buffer, ";\n", body));
  MustWriteRegions written(program);
  Walk(program.body, written);
  const Dims& dims = program.buffers[{0}].dims;
  std::string cells;
  for (int64_t cell = 0; cell < NumElements(dims); ++cell) {
    Access access{{0}, Indices(dims.size())};
    int64_t rest = cell;
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
      access.indices[axis] = rest % dims[axis];
    }
    cells += written.Covers(access) ? '1' : '0';
  }
  EXPECT_EQ(written.CoversAll({0}), !absl::StrContains(cells, '0'));
  return cells;
}

TEST(MustWriteTest, BuffersMayComeLater) {
  LoopProgram program = MustParse("p ():\n  out t : f32[1];\n  t[0] := 1;\n");
  MustWriteRegions written(program);
  const BufferId later = program.buffers.Add(program.buffers[{0}]);
  EXPECT_FALSE(written.CoversAll(later));
  written.WriteAll(later);
  EXPECT_TRUE(written.CoversAll(later));
  EXPECT_FALSE(written.CoversAll({0}));
}

TEST(MustWriteTest, BoxesInShiftedOnesStillJoin) {
  EXPECT_EQ(Written("temp t : f32[9]",
                    "for i0 = 0 to 5 { t[i0 + s] := 1; }"
                    "for i1 = 0 to 2 { t[i1] := 1; }"
                    "for i2 = 0 to 2 { t[i2 + 3] := 1; }"
                    "for i3 = 0 to 2 { t[i3 + 6] := 1; }"),
            "111111111");
}

TEST(MustWriteTest, IterationsWithoutGapsAreABox) {
  const std::string t = "temp t : f32[6]";
  EXPECT_EQ(Written(t, "for i0 = 0 to 3 { t[i0 + 1] := 1; }"), "011110");
  EXPECT_EQ(Written(t, "for i0 = 0 to 3 { t[-i0 + 3] := 1; }"), "111100");
  EXPECT_EQ(Written(t,
                    "for i0 = 0 to 1 { for i1 = 0 to 2 {"
                    " t[3*i0 + i1] := 1; } }"),
            "111111");
  EXPECT_EQ(Written(t,
                    "for i0 = 0 to 1 { for i1 = 0 to 2 {"
                    " t[2*i1 + i0] := 1; } }"),
            "111111");
  EXPECT_EQ(Written(t, "for i0 = 0 to 2 { t[2*i0] := 1; t[2*i0 + 1] := 1; }"),
            "111111");
  EXPECT_EQ(Written(t, "for i0 = 0 to 0 { t[5*i0 + 2] := 1; }"), "001000");
  EXPECT_EQ(Written(t, "for i0 = 0 to 3 { zero_out t; }"), "111111");
}

TEST(MustWriteTest, GapsAreNotWritten) {
  const std::string t = "temp t : f32[6]";
  EXPECT_EQ(Written(t, "for i0 = 0 to 2 { t[2*i0] := 1; }"), "101010");
  EXPECT_EQ(Written(t,
                    "for i0 = 0 to 1 { for i1 = 0 to 1 {"
                    " t[3*i0 + i1] := 1; } }"),
            "110110");
  EXPECT_EQ(Written(t, "for i0 = 0 to 2 { t[s + i0] := 1; }"), "000000");
  EXPECT_EQ(Written("temp t : f32[2, 2]",
                    "for i0 = 0 to 1 { t[i0, i0] := 1;"
                    " }"),
            "0000");
}

TEST(MustWriteTest, BoxesThatTouchAreOne) {
  const std::string t = "temp t : f32[6]";
  EXPECT_EQ(Written(t,
                    "for i0 = 0 to 3 { t[i0 + 2] := 1; }"
                    " for i1 = 0 to 2 { t[i1] := 1; }"),
            "111111");
  EXPECT_EQ(Written(t, "t[0] := 1; t[2] := 1; t[1] := 1; t[5] := 1;"),
            "111001");
  // Tiles of 2 x 2 and what they leave of 3 x 3.
  EXPECT_EQ(Written("temp t : f32[3, 3]",
                    "for i0 = 0 to 1 {"
                    " for i1 = 0 to 1 { t[i0, i1] := 1; } t[i0, 2] := 1; }"
                    "for i2 = 0 to 1 { t[2, i2] := 1; } t[2, 2] := 1;"),
            "111111111");
  EXPECT_EQ(Written("temp t : f32[2, 2]",
                    "t[0, 0] := 1; t[1, 1] := 1;"
                    " t[0, 1] := 1;"),
            "1101");
}

TEST(MustWriteTest, TilesOfAFlatArrayAreOne) {
  // 3 x 5 in tiles of 2 x 3.
  const std::string t = "temp t : f32[15]";
  EXPECT_EQ(Written(t,
                    "for i0 = 0 to 1 {"
                    " for i1 = 0 to 2 { t[5*i0 + i1] := 1; }"
                    " for i2 = 0 to 1 { t[5*i0 + i2 + 3] := 1; } }"
                    "for i3 = 0 to 2 { t[i3 + 10] := 1; }"
                    "for i4 = 0 to 1 { t[i4 + 13] := 1; }"),
            "111111111111111");
  EXPECT_EQ(Written(t,
                    "for i0 = 0 to 2 { for i1 = 0 to 1 {"
                    " t[-i1 + 5*i0 + 4] := 1; } }"
                    "for i2 = 0 to 2 { for i3 = 0 to 2 {"
                    " t[i2 + 5*i3] := 1; } }"),
            "111111111111111");
  EXPECT_EQ(Written(t,
                    "for i0 = 0 to 2 { for i1 = 0 to 2 {"
                    " t[5*i0 + i1] := 1; } }"
                    "for i2 = 0 to 2 { t[5*i2 + 4] := 1; }"),
            "111011110111101");
  // Both axes are flat.
  EXPECT_EQ(Written("temp t : f32[4, 6]",
                    "for i0 = 0 to 1 { for i1 = 0 to 1 {"
                    " for i2 = 0 to 2 { for i3 = 0 to 1 {"
                    " t[2*i0 + i1, 2*i2 + i3] := 1; } } } }"),
            "111111111111111111111111");
}

TEST(MustWriteTest, ParIterationsKeepPrivateBuffersToThemselves) {
  const std::string body = "par i0 = 0 to 1 { t[i0] := 1; }";
  EXPECT_EQ(Written("temp t : f32[2]", body), "11");
  EXPECT_EQ(Written("private t : f32[2]", body), "00");
  EXPECT_EQ(Written("private t : f32[2]", "zero_out t; " + body), "00");
  EXPECT_EQ(Written("private t : f32[2]", body + "t[1] := 1;"), "01");
}

TEST(MustWriteTest, ManyAxesAreCutInFewSteps) {
  constexpr int kRank = 9;
  std::string dims = "2";
  std::string last = "1";
  for (int axis = 1; axis < kRank; ++axis) {
    dims += ", 2";
    last += ", 1";
  }
  // All cells that have a 0 in an index.
  std::string body;
  int iterator = 0;
  for (int zero = 0; zero < kRank; ++zero) {
    std::string loops;
    std::string cell;
    for (int axis = 0; axis < kRank; ++axis) {
      absl::StrAppend(&cell, axis > 0 ? ", " : "");
      if (axis == zero) {
        cell += "0";
        continue;
      }
      absl::StrAppend(&loops, "for i", iterator, " = 0 to 1 { ");
      absl::StrAppend(&cell, "i", iterator++);
    }
    absl::StrAppend(&body, loops, "t[", cell, "] := 1;",
                    std::string(kRank - 1, '}'), "\n");
  }
  const std::string t = absl::StrCat("temp t : f32[", dims, "]");
  const std::string all(1 << kRank, '1');
  EXPECT_EQ(Written(t, body), all.substr(1) + "0");
  EXPECT_EQ(Written(t, absl::StrCat(body, "t[", last, "] := 1;")), all);
}

TEST(MustWriteTest, ACellThatAnotherBoxHoldsCompletesARow) {
  EXPECT_EQ(Written("temp t : f32[3, 3]",
                    "for i0 = 0 to 2 { t[i0, 2] := 1; }"
                    "for i1 = 0 to 1 { for i2 = 0 to 2 { t[i1, i2] := 1; } }"
                    "t[2, 0] := 1; t[2, 1] := 1;"),
            "111111111");
}

}  // namespace
}  // namespace ocannl
