// SPDX-License-Identifier: Apache-2.0
//
// Which loops of a contraction make its tiles, and how large those are: a table
// of einsums, and what must hold for all extents and strides.
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ocannl/core/index/division.h"
#include "ocannl/core/schedule/cpu/tiling/plan.h"
#include "ocannl/core/schedule/cpu/tiling/shape.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

using Extents = std::map<char, int64_t>;

struct Einsum {
  // As NumPy writes it, but that k+q indexes a window of q cells; loops over
  // the letters of the result go first.
  std::string spec;
  Extents extents;
};

std::string Describe(const Einsum& einsum) {
  std::string text = einsum.spec;
  for (const auto& [letter, extent] : einsum.extents) {
    absl::StrAppend(&text, ", ", std::string(1, letter), " = ", extent);
  }
  return text;
}

// "k+qn" gives "k+q" and "n".
std::vector<std::string> AxesOf(const std::string& operand) {
  std::vector<std::string> axes;
  for (char letter : operand) {
    const bool is_window =
        letter == '+' || (axes.size() && axes.back().back() == '+');
    if (!is_window) axes.emplace_back();
    axes.back() += letter;
  }
  return axes;
}

std::string Declared(const std::string& operand, const Extents& extents) {
  return absl::StrJoin(AxesOf(operand), ", ",
                       [&](std::string* out, const std::string& axis) {
                         int64_t extent = extents.at(axis[0]);
                         if (axis.size() > 1) extent += extents.at(axis[2]) - 1;
                         absl::StrAppend(out, extent);
                       });
}

std::string Indexed(const std::string& operand) {
  return absl::StrJoin(AxesOf(operand), ", ",
                       [](std::string* out, const std::string& axis) {
                         absl::StrAppend(out, "i", axis[0] - 'a');
                         if (axis.size() > 1) {
                           absl::StrAppend(out, " + i", axis[2] - 'a');
                         }
                       });
}

LoopProgram ProgramOf(const Einsum& einsum) {
  const std::pair<std::string, std::string> sides =
      absl::StrSplit(einsum.spec, "->");
  const std::vector<std::string> operands = absl::StrSplit(sides.first, ',');
  std::string loops = sides.second;
  std::string text = "p ():\n";
  std::vector<std::string> reads;
  for (size_t k = 0; k < operands.size(); ++k) {
    absl::StrAppend(&text, "in x", k, " : f32[",
                    Declared(operands[k], einsum.extents), "];\n");
    reads.push_back(absl::StrCat("x", k, "[", Indexed(operands[k]), "]"));
    for (char letter : operands[k]) {
      if (letter != '+' && loops.find(letter) == std::string::npos) {
        loops += letter;
      }
    }
  }
  absl::StrAppend(&text, "inout y : f32[",
                  Declared(sides.second, einsum.extents), "];\n");
  std::string nest = absl::StrCat("y[", Indexed(sides.second), "]");
  nest = absl::StrCat(nest, " := ", nest, " + ", absl::StrJoin(reads, " * "),
                      ";\n");
  for (size_t k = loops.size(); k-- > 0;) {
    nest = absl::StrCat("for i", loops[k] - 'a', " = 0 to ",
                        einsum.extents.at(loops[k]) - 1, " {\n", nest, "}\n");
  }
  return MustParse(text + nest);
}

struct Planned {
  explicit Planned(const Einsum& einsum, const Target& target)
      : program(ProgramOf(einsum)),
        nest(*AsPerfectNest(program, program.body.stmts[0])),
        plan(PlanContract(program, nest, target)),
        shape(ShapeOf(program, nest, OperandsOf(program, nest), plan.loops)) {}

  LoopProgram program;
  PerfectNest nest;
  ContractPlan plan;
  ContractShape shape;
};

// The letter of a loop, by its extent.
std::string LetterOf(const Einsum& einsum,
                     const std::optional<NestLoop>& loop) {
  for (const auto& [letter, extent] : einsum.extents) {
    if (loop && loop->extent == extent) return std::string(1, letter);
  }
  return "-";
}

// "m q n: mr x qr x nr, ku", and what is packed, kc and nc, where k is in
// blocks or panels are.
std::string PlanOf(const Einsum& einsum, const Target& target) {
  const Planned planned(einsum, target);
  const auto& [loops, tiles, blocks, a, b, transposes, parallel, cascade] =
      planned.plan;
  std::string text = absl::StrCat(
      LetterOf(einsum, loops.m), LetterOf(einsum, loops.q),
      LetterOf(einsum, loops.n), ": ", tiles.m[0].size, "x", tiles.q[0].size,
      "x", tiles.n[0].size, ", ku ", tiles.unroll);
  if (a) absl::StrAppend(&text, ", A packed");
  if (b) absl::StrAppend(&text, ", B ", transposes ? "transposed" : "packed");
  if (planned.plan.has_k_blocks()) {
    absl::StrAppend(&text, ", kc ", blocks.k[0].size,
                    blocks.k_outside_tiles ? " outside" : "");
  }
  if (blocks.panels > 1) {
    absl::StrAppend(&text, ", nc ", blocks.panels * tiles.n[0].size);
  }
  return text;
}

constexpr Target kAvx512Target{.vector_bytes = 64, .vector_registers = 32};
constexpr Target kAvx2Target{.vector_bytes = 32, .vector_registers = 16};

struct Row {
  Einsum einsum;
  std::string avx512, avx2;
};

void ExpectPlans(const std::vector<Row>& rows) {
  for (const auto& [einsum, avx512, avx2] : rows) {
    EXPECT_EQ(PlanOf(einsum, kAvx512Target), avx512) << Describe(einsum);
    EXPECT_EQ(PlanOf(einsum, kAvx2Target), avx2) << Describe(einsum);
  }
}

TEST(TilingTest, TableOfEinsums) {
  const std::vector<Row> rows = {
      {{"mk,kn->mn", {{'m', 66}, {'n', 64}, {'k', 65}}},
       "m-n: 6x1x64, ku 8",
       "m-n: 5x1x16, ku 8"},
      {{"mk,kn->mn", {{'m', 513}, {'n', 512}, {'k', 514}}},
       "m-n: 12x1x32, ku 8, B packed, nc 64",
       "m-n: 12x1x8, ku 8, B packed, nc 64"},
      {{"mk,kn->mn", {{'m', 2047}, {'n', 2048}, {'k', 2050}}},
       "m-n: 12x1x32, ku 8, B packed, kc 1032, nc 128",
       "m-n: 5x1x16, ku 8, B packed, nc 64"},
      {{"mk,nk->mn", {{'m', 513}, {'n', 512}, {'k', 514}}},
       "m-n: 12x1x32, ku 8, B transposed, nc 64",
       "m-n: 9x1x8, ku 8, B transposed, nc 64"},
      {{"km,kn->mn", {{'m', 2047}, {'n', 2048}, {'k', 2050}}},
       "m-n: 12x1x32, ku 8, A packed, B packed, kc 1032, nc 128",
       "m-n: 5x1x16, ku 8, A packed, B packed, nc 64"},
      {{"mk,kn->mn", {{'m', 512}, {'n', 513}, {'k', 514}}},
       "m-n: 12x1x32, ku 8, B packed, nc 64",
       "m-n: 12x1x8, ku 8, B packed, nc 64"},
      {{"k,kn->n", {{'n', 256}, {'k', 100}}},
       "--n: 1x1x256, ku 16",
       "--n: 1x1x56, ku 16"},
      {{"k,kn->n", {{'n', 4096}, {'k', 4097}}},
       "--n: 1x1x64, ku 8, kc 8, nc 1024",
       "--n: 1x1x32, ku 8, kc 8, nc 1024"},
      {{"kn->n", {{'n', 256}, {'k', 1000}}},
       "--n: 1x1x256, ku 16",
       "--n: 1x1x128, ku 16"},
      {{"mk->m", {{'m', 256}, {'k', 1000}}},
       "--m: 1x1x32, ku 16",
       "--m: 1x1x16, ku 16"},
      {{"mk,kn->mn", {{'m', 1000}, {'n', 4}, {'k', 500}}},
       "m-n: 24x1x4, ku 8",
       "m-n: 12x1x4, ku 8"},
      {{"bmk,kn->bmn", {{'b', 70}, {'m', 63}, {'n', 1024}, {'k', 1026}}},
       "m-n: 11x1x32, ku 8, B packed",
       "m-n: 5x1x16, ku 8, kc 241 outside, nc 512"},
      // A target in memory is written along its rows, where they are long.
      {{"bmk,kn->bmn", {{'b', 4}, {'m', 255}, {'n', 1024}, {'k', 256}}},
       "m-n: 12x1x32, ku 8, B packed, nc 512",
       "m-n: 5x1x16, ku 8, B packed, nc 512"},
      {{"bmk,nk->bmn", {{'b', 16}, {'m', 255}, {'n', 256}, {'k', 254}}},
       "m-n: 12x1x32, ku 8, B transposed",
       "m-n: 9x1x8, ku 8, B transposed"},
      {{"mnk,qnk->mqn", {{'m', 30}, {'q', 31}, {'n', 32}, {'k', 33}}},
       "qmn: 8x3x16, ku 8",
       "qmn: 5x2x8, ku 33"},
      {{"mkn,kqn->mqn", {{'m', 30}, {'q', 31}, {'n', 32}, {'k', 33}}},
       "mqn: 6x4x16, ku 8",
       "mqn: 5x2x8, ku 33"},
  };
  ExpectPlans(rows);
}

TEST(TilingTest, FewRowsAndFarSteps) {
  ExpectPlans({
      // Few rows are lanes, and their operand is transposed.
      {{"mk,nk->mn", {{'m', 16}, {'n', 384}, {'k', 385}}},
       "n-m: 24x1x16, ku 8, B transposed",
       "n-m: 9x1x8, ku 8, B transposed"},
      {{"mk,nk->mn", {{'m', 16}, {'n', 31}, {'k', 385}}},
       "m-n: 16x1x16, ku 16",
       "m-n: 8x1x8, ku 8, B transposed"},
      // Steps of A are a multiple of 1 KB apart, in few sets of L1.
      {{"bkm,bkn->bmn", {{'b', 4}, {'m', 256}, {'n', 64}, {'k', 255}}},
       "m-n: 12x1x32, ku 8, A packed",
       "m-n: 5x1x16, ku 8, A packed"},
      {{"bkm,bkn->bmn", {{'b', 4}, {'m', 255}, {'n', 64}, {'k', 256}}},
       "m-n: 12x1x32, ku 8",
       "m-n: 5x1x16, ku 8"},
  });
}

TEST(TilingTest, TapsOfAWindow) {
  ExpectPlans({
      // A tile has several.
      {{"km,k+qn->mqn", {{'m', 33}, {'q', 3}, {'n', 32}, {'k', 34}}},
       "mqn: 4x3x32, ku 4",
       "mqn: 4x3x8, ku 4"},
      {{"km,k+qn->mqn", {{'m', 33}, {'q', 5}, {'n', 16}, {'k', 34}}},
       "mqn: 4x5x16, ku 4",
       "mqn: 2x5x8, ku 4"},
      {{"km,k+qn->mqn", {{'m', 33}, {'q', 7}, {'n', 64}, {'k', 3}}},
       "mqn: 6x4x16, ku 3",
       "mqn: 6x2x8, ku 3"},
  });
}

TEST(TilingTest, RowsOfALargeResult) {
  ExpectPlans({
      // It is written along rows where these are long, or sums are short.
      {{"bmhk,bnhk->bmhn",
        {{'b', 3}, {'m', 252}, {'h', 4}, {'n', 256}, {'k', 64}}},
       "m-n: 12x1x32, ku 8, B transposed, nc 256",
       "m-n: 9x1x8, ku 8, B transposed, nc 256"},
      {{"bmhk,bnhk->bmhn",
        {{'b', 3}, {'m', 252}, {'h', 4}, {'n', 256}, {'k', 65}}},
       "m-n: 12x1x32, ku 8, B transposed",
       "m-n: 9x1x8, ku 8, B transposed"},
  });
}

// That tiles of a loop are adjacent and end with it.
void ExpectCover(const std::vector<TileRange>& tiles, int64_t extent) {
  int64_t next = 0;
  for (const TileRange& range : tiles) {
    EXPECT_EQ(range.first, next);
    EXPECT_GT(range.count, 0);
    EXPECT_GT(range.size, 0);
    next += range.count * range.size;
  }
  EXPECT_EQ(next, extent);
}

TEST(TilingTest, TilesCoverTheirLoopsAndFit) {
  std::mt19937 random(1);
  auto extent = [&] {
    const int64_t most = int64_t{1} << (random() % 12);
    return 1 + static_cast<int64_t>(random() % most);
  };
  const std::vector<std::string> specs = {
      "mk,kn->mn",   "mk,nk->mn",    "km,kn->mn",   "kn->n",       "k,kn->n",
      "bmk,kn->bmn", "mnk,qnk->mqn", "mkl,kln->mn", "km,k+qn->mqn"};
  for (int round = 0; round < 400; ++round) {
    const Einsum einsum = {.spec = specs[random() % specs.size()],
                           .extents = {{'b', 2 + random() % 9},
                                       {'m', extent()},
                                       {'q', extent()},
                                       {'n', extent()},
                                       {'k', 1 + extent()},
                                       {'l', 2 + random() % 5}}};
    for (const Target& target : {kAvx512Target, kAvx2Target}) {
      SCOPED_TRACE(Describe(einsum));
      const auto [program, nest, plan, shape] = Planned(einsum, target);
      const auto& [m, q, n, unroll, whole, cycles] = plan.tiles;
      ExpectCover(m, shape.m);
      ExpectCover(q, shape.q);
      ExpectCover(n, shape.n);
      ExpectCover(plan.blocks.k, shape.k[0]);
      EXPECT_GE(unroll, 1);
      EXPECT_LE(unroll, shape.k.back());
      EXPECT_EQ(n[0].count % plan.blocks.panels, 0);
      const int64_t vectors = CeilDiv(n[0].size, shape.Lanes(target));
      const int64_t accumulators = m[0].size * q[0].size * vectors;
      EXPECT_LE(accumulators, target.vector_registers);
      if (!plan.packed_b || !plan.has_k_blocks()) continue;
      double panel = static_cast<double>(plan.blocks.k[0].size * n[0].size * 4);
      for (size_t k = 1; k < shape.k.size(); ++k) {
        panel *= static_cast<double>(shape.k[k]);
      }
      EXPECT_LE(panel, target.l2_bytes / 4);
    }
  }
}

}  // namespace
}  // namespace ocannl
