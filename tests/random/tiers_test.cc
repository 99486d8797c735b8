// SPDX-License-Identifier: Apache-2.0
//
// Draws have the same bits on every tier, whatever the size: x86 computes a
// block for several cells where lanes are cells in the order of memory, and the
// interpreter keeps its last one. 4 seconds.
#include "ocannl/tiers/tiers.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/graph/model.h"
#include "tests/agree/all_tiers.h"
#include "tests/random/draws.h"
#include "tests/support/must_parse.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

Tensor Ones(Graph& graph, const std::vector<int64_t>& dims) {
  NdArray ones(DType::kF32, dims);
  for (float& cell : ones.values<float>()) cell = 1;
  ShapeSpec row;
  row[RowKind::kOutput] = Dims(dims);
  return Data(graph, "x", std::move(ones), row);
}

Assignments CodeOf(train::Model& model, Tensor result) {
  absl::StatusOr<Assignments> code =
      train::Forward(model, Named(result, "drawn"));
  CHECK_OK(code);
  return *std::move(code);
}

// Draws of the dims, each beside the one before it.
LoopProgram Drawn(const std::vector<int64_t>& dims,
                  const std::vector<MakeDraw>& draws) {
  train::Model model;
  train::Training training{.step = model.graph.AddStatic("step", std::nullopt)};
  const Tensor ones = Ones(model.graph, dims);
  Tensor all = ones;
  for (const MakeDraw& make : draws) {
    all = PointMul(all + 0.5, InDType(make(ones, training), DType::kF32));
  }
  absl::StatusOr<LoopProgram> program =
      CompileProgram(CodeOf(model, all), PassOptions());
  CHECK_OK(program);
  return *std::move(program);
}

const std::vector<MakeDraw>& Several() {
  static const auto* draws = new std::vector<MakeDraw>{
      Of(Uniform),
      Of(Uniform1),
      Of(Uniform, DType::kF64),
      Of(Normal, DType::kF16),
      Dropout(0.5),
      Light(),
  };
  return *draws;
}

TEST(DrawsOnTiersTest, Vectors) {
  for (int64_t size = 1; size <= 70; ++size) {
    if (size > 20 && size < 60 && size % 16 > 1 && size % 16 < 15) continue;
    EXPECT_TRUE(fuzz::TiersAgree(Drawn({size}, Several()))) << size;
  }
}

TEST(DrawsOnTiersTest, RowsOfAnyLength) {
  using Shape = std::vector<int64_t>;
  for (const Shape& dims :
       {Shape{3, 5}, Shape{7, 50}, Shape{9, 63}, Shape{13, 16}, Shape{5, 34},
        Shape{6, 10, 7}, Shape{2, 48}, Shape{3, 32}, Shape{100, 20},
        Shape{2, 130}, Shape{70, 1}}) {
    EXPECT_TRUE(fuzz::TiersAgree(Drawn(dims, Several())))
        << testing::PrintToString(dims);
  }
}

// Rows that are no part of one loop, as each cell of b is for all of them, and
// begin anywhere in a block.
TEST(DrawsOnTiersTest, RowsThatBeginInsideOfABlock) {
  for (const int columns : {17, 33, 34, 36, 49, 50, 63, 130}) {
    for (const int first : {0, 3}) {
      const std::string cell =
          absl::StrCat("u32([", columns, "*i0 + i1 + ", first, "])");
      const std::string size = absl::StrCat("7, ", columns);
      EXPECT_TRUE(fuzz::TiersAgree(MustParse(absl::StrCat(
          "p (step : [0..99]): in b : u32[", columns, "]; out x : u32[", size,
          "]; out y : u32[", size, "]; for i0 = 0 to 6 { for i1 = 0 to ",
          columns - 1, " { x[i0, i1] := b[i1] ^ ",
          "threefry_crypto(1:u32, 2:u32, u32([step]), 0:u32, ", cell,
          " >> 2:u32, ", cell,
          " & 3:u32); } } for i2 = 0 to 6 { for i3 = 0 to ", columns - 1,
          " { y[i2, i3] := b[i3] ^ ",
          "threefry_light(1:u32, 2:u32, u32([i2]), 0:u32, u32([", columns,
          "*i2 + i3]) >> 1:u32, (u32([", columns,
          "*i2 + i3]) & 1:u32) * 2:u32); } }"))))
          << columns << " from " << first;
    }
  }
}

// The definition: word c & 3 of block c >> 2 is that of cell c.
TEST(DrawsOnTiersTest, AreTheWordsOfTheirBlocks) {
  constexpr std::array<uint32_t, 4> kKey = {7, 8, 9, 10};
  for (const std::string tier : {"interp", "x86"}) {
    train::Model model;
    const Tensor ones = Ones(model.graph, {70});
    const Tensor cells = Offsets(model.graph, DType::kU32);
    const Tensor words = ThreefryCrypto(kKey[0], kKey[1], kKey[2], kKey[3],
                                        Shr(cells, 2), And(cells, 3));
    const Tensor drawn = Mul(Convert(ones, DType::kU32), words);
    const TestDevice device(*FindTier(tier));
    absl::StatusOr<Routine> routine =
        ToRoutine(device.context, CodeOf(model, drawn), {});
    CHECK_OK(routine);
    CHECK_OK(routine->Run());
    absl::StatusOr<NdArray> array = routine->context().Read("drawn");
    CHECK_OK(array);
    for (uint32_t cell = 0; cell < 70; ++cell) {
      EXPECT_EQ(array->values<uint32_t>()[cell],
                Threefry(ThreefryVariant::kCrypto, kKey,
                         SpreadCounter(cell >> 2))[cell & 3])
          << tier << ", cell " << cell;
    }
  }
}

}  // namespace
}  // namespace ocannl
