// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/initializer.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "gtest/gtest.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl {
namespace {

// The value of a cell of `tensor`, whose sizes, where it asks, are 100 inputs
// and 40 outputs.
double ValueAt(Tensor tensor, int64_t cell) {
  ExprPool pool;
  absl::flat_hash_map<TensorId, Expr> values;
  for (TensorId id : TopologicalOrder(*tensor.graph, {tensor.id}, false)) {
    const TensorNode& node = (*tensor.graph)[id];
    auto literal = [&](double value) {
      values.emplace(id, Literal(pool, node.dtype, value));
    };
    if (const auto* number = std::get_if<NumberSource>(&node.source)) {
      literal(number->value);
    } else if (std::holds_alternative<OffsetsSource>(node.source)) {
      literal(static_cast<double>(cell));
    } else if (std::holds_alternative<SymbolSource>(node.source)) {
      literal(0);  // no step
    } else if (const auto* dim = std::get_if<DimSource>(&node.source)) {
      literal(dim->rows[0] == RowKind::kInput ? 100 : 40);
    } else {
      const auto& compute = std::get<ComputeSource>(node.source);
      std::vector<Expr> args;
      for (TensorId operand : compute.operands) {
        args.push_back(values.at(operand));
      }
      if (!compute.op) {  // Stretch
        values.emplace(id, args[0]);
        continue;
      }
      Expr value = ApplyOp(*compute.op, args, node.dtype);
      values.emplace(id, FromConstant(pool, Fold(pool, value.id())));
    }
  }
  return ToDouble(Fold(pool, values.at(tensor.id).id()));
}

// The words of the key are the seed's and the ordinal's, and the counter.
TEST(Initializer, DrawsWordsOfTheSeedTheOrdinalTheCounterAndTheCell) {
  constexpr auto kCrypto = ThreefryVariant::kCrypto;
  Graph graph;
  Uniform1(graph);
  Tensor second = Uniform1(graph);
  Tensor third = Uniform1(graph, {.counter = Number(graph, 9)});
  auto expected = [](uint32_t ordinal, uint32_t counter, uint32_t cell) {
    const auto key = Threefry(kCrypto, {ordinal, 0, 0, 0}, {42, 0, 0, 0});
    return (Threefry(kCrypto, {key[0], key[1], counter, 0},
                     {cell, cell ^ 0x9E3779B9u, cell ^ 0x6C078965u,
                      cell ^ std::rotl(cell, 16)})[0] >>
            8) *
           0x1p-24;
  };
  for (uint32_t cell = 0; cell < 5; ++cell) {
    EXPECT_EQ(ValueAt(second, cell), expected(2, 0, cell)) << cell;
    EXPECT_EQ(ValueAt(third, cell), expected(3, 9, cell)) << cell;
  }
}

TEST(Initializer, TheSeedChangesTheNumbers) {
  Graph graph, other;
  other.set_seed(43);
  EXPECT_NE(ValueAt(Uniform1(graph), 0), ValueAt(Uniform1(other), 0));
}

TEST(Initializer, ACounterIsAnInteger) {
  Graph graph;
  auto error = [](Tensor t) {
    const auto* source = std::get_if<ErrorSource>(&t.node().source);
    return source == nullptr ? "" : std::string(source->status.message());
  };
  auto draw = [&](Tensor counter) {
    return error(Normal(graph, {.counter = counter}));
  };
  constexpr SourceLocation kHere = {"net.cc", 7};
  EXPECT_EQ(draw(Number(graph, 3.5, kHere)),
            "error in `3.5` (net.cc:7): the counter of random numbers is u32, "
            "i64 or u64; write an integer");
  EXPECT_EQ(draw(Range(graph, 2, DType::kF32, kHere)),
            "error in `range(2)` (net.cc:7): the counter of random numbers is "
            "u32, i64 or u64; write u32(range(2)), in C++ Convert(range(2), "
            "DType::kU32)");
  EXPECT_NE(draw(Number(graph, 1e20)), "");
  EXPECT_EQ(draw(Number(graph, -3)), "");
  EXPECT_EQ(draw(Number(graph, uint64_t{18446744073709551615u})), "");
  EXPECT_EQ(draw(Range(graph, 2, DType::kU64)), "");
}

TEST(Initializer, ACounterChangesTheNumbers) {
  auto first = [](uint32_t counter, int64_t cell) {
    Graph graph;
    return ValueAt(Uniform1(graph, {.counter = Convert(Number(graph, counter),
                                                       DType::kU32)}),
                   cell);
  };
  EXPECT_EQ(first(1, 0), first(1, 0));
  EXPECT_NE(first(1, 0), first(2, 0));
  EXPECT_NE(first(1, 0), first(1, 1));
  double sum = 0;
  for (uint32_t counter = 0; counter < 400; ++counter) {
    double value = first(counter, 0);
    EXPECT_TRUE(0 <= value && value < 1) << value;
    sum += value;
  }
  EXPECT_NEAR(sum / 400, 0.5, 5 / std::sqrt(12. * 400));
}

// Every float: where the wider draw's leading bits are the narrower one.
TEST(Initializer, ANarrowDrawIsAWideOneCutOff) {
  auto cut = [](double x, int bits) {
    return std::ldexp(std::floor(std::ldexp(x, bits)), -bits);
  };
  auto draws = [](DType dtype, int64_t cell) {
    Graph graph, other;
    const Tensor counter = Convert(Number(other, 7), DType::kU32);
    Tensor plain = Uniform1(graph, {dtype});
    Tensor by_counter = Uniform1(other, {dtype, counter});
    EXPECT_EQ(plain.node().dtype, dtype);
    EXPECT_EQ(by_counter.node().dtype, dtype);
    return std::pair(ValueAt(plain, cell), ValueAt(by_counter, cell));
  };
  const std::vector<std::pair<DType, int>> precisions = {
      {DType::kF32, 24},   {DType::kF16, 11},   {DType::kBF16, 8},
      {DType::kF8E4M3, 4}, {DType::kF8E5M2, 3},
  };
  bool has_low_bits = false;
  for (int cell = 0; cell < 50; ++cell) {
    const auto [wide, wide_at] = draws(DType::kF64, cell);
    EXPECT_EQ(wide, cut(wide, 53));
    has_low_bits |= wide != cut(wide, 52);
    EXPECT_LT(wide, 1);
    EXPECT_NE(wide, wide_at);
    for (const auto& [dtype, precision] : precisions) {
      EXPECT_EQ(draws(dtype, cell),
                std::pair(cut(wide, precision), cut(wide_at, precision)))
          << Name(dtype) << " " << cell;
    }
  }
  EXPECT_TRUE(has_low_bits);
}

TEST(Initializer, ABlockServesTwoCellsOfF64) {
  Graph graph, other;
  Tensor by_two = Uniform(graph, {DType::kF64});
  Tensor by_one = Uniform1(other, {DType::kF64});
  for (int block = 0; block < 3; ++block) {
    EXPECT_EQ(ValueAt(by_two, 2 * block), ValueAt(by_one, block));
    EXPECT_NE(ValueAt(by_two, 2 * block), ValueAt(by_two, 2 * block + 1));
  }
}

TEST(Initializer, EveryRandomTensorDiffers) {
  Graph graph;
  Tensor first = Uniform1(graph), second = Uniform1(graph);
  EXPECT_NE(ValueAt(first, 0), ValueAt(second, 0));
}

TEST(Initializer, AWholeBlockServesFourCells) {
  Graph graph, other;
  Tensor by_four = Uniform(graph);
  Tensor by_one = Uniform1(other);
  // Cell 4k reads the first word of block k, which Uniform1 has in cell k.
  for (int block = 0; block < 3; ++block) {
    EXPECT_EQ(ValueAt(by_four, 4 * block), ValueAt(by_one, block));
    EXPECT_NE(ValueAt(by_four, 4 * block), ValueAt(by_four, 4 * block + 1));
  }
}

TEST(Initializer, ScalesByTheSizesOfTheParameter) {
  Graph graph;
  Tensor w = Param(graph, "w", {}, DType::kF32, nullptr);
  // The published bounds: 0.2449 for 100 inputs, 0.2070 for 140 in all.
  EXPECT_NEAR(ValueAt(Kaiming(Number(graph, 1), w, 6), 0), 0.2449, 5e-5);
  EXPECT_NEAR(ValueAt(Xavier(Number(graph, 1), w, 6), 0), 0.2070, 5e-5);
}

TEST(Initializer, TheDefaultIsSmallAndOfTheRightDType) {
  Graph graph;
  for (DType dtype : {DType::kF32, DType::kF64}) {
    Tensor w = Param(graph, "w", {}, dtype, DefaultInit);
    Tensor init = {&graph, *std::get<ParamSource>(w.node().source).init};
    EXPECT_EQ(init.node().dtype, dtype);
    EXPECT_FALSE(init.node().has_gradient);
    for (int cell = 0; cell < 100; ++cell) {
      EXPECT_LE(std::abs(ValueAt(init, cell)), 0.25);
    }
  }
}

}  // namespace
}  // namespace ocannl
