// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/open_dtype.h"

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

constexpr SourceLocation kHere = {"net.cc", 7};

struct Leaves {
  Graph graph;
  Tensor w = Param(graph, "w", {}, std::nullopt, DefaultInit, {"net.cc", 1});
  Tensor v = Param(graph, "v", {}, std::nullopt, DefaultInit, {"net.cc", 2});
  Tensor literal = Literal(graph, {}, {0.1F});
  Tensor i = Range(graph, 2, DType::kI32);
  Tensor f16 = Range(graph, 2, DType::kF16, {"net.cc", 3});
  Tensor bf16 = Range(graph, 2, DType::kBF16, {"net.cc", 4});
  Tensor f64 = Range(graph, 2, DType::kF64);
};

struct Rule {
  std::string name;
  std::function<std::vector<Tensor>(Leaves&)> use;  // and what is looked at
  std::vector<DType> dtypes;
};

const Rule kRules[] = {
    {"what meets nothing is of the default",
     [](Leaves& of) {
       return std::vector{of.w, of.literal};
     },
     {DType::kF32, DType::kF32}},
    {"a parameter beside data",
     [](Leaves& of) {
       return std::vector{of.w * of.f16, of.w};
     },
     {DType::kF16, DType::kF16}},
    {"a literal beside data",
     [](Leaves& of) {
       return std::vector{of.literal + of.f64, of.literal};
     },
     {DType::kF64, DType::kF64}},
    {"down, from a sum to what its terms are made of",
     [](Leaves& of) {
       Tensor product = of.w * of.v;
       Tensor sum = Relu(product) + of.bf16;
       return std::vector{sum, product, of.w, of.v};
     },
     {DType::kBF16, DType::kBF16, DType::kBF16, DType::kBF16}},
    {"up and down again, through two that meet",
     [](Leaves& of) {
       Tensor sum = of.w + of.v;
       return std::vector{of.v + of.f16, of.w, sum};
     },
     {DType::kF16, DType::kF16, DType::kF16}},
    {"numbers go along",
     [](Leaves& of) {
       Tensor sum = of.w + 1;
       Tensor of_f16 = sum + of.f16;
       return std::vector{of_f16,
                          Tensor{sum.graph, OperandsOf(sum.node().source)[1]}};
     },
     {DType::kF16, DType::kF16}},
    {"a number that is used stays",
     [](Leaves& of) {
       Tensor number = Number(of.graph, 2);
       Tensor product = Convert(number, DType::kF64);
       return std::vector{of.w + number, of.w + of.f16, product, number};
     },
     {DType::kF16, DType::kF16, DType::kF64, DType::kF32}},
    {"a number beside an open dtype, then beside integers",
     [](Leaves& of) {
       Tensor number = Number(of.graph, 2);
       return std::vector{number + of.w, number + of.i, of.w + of.f16};
     },
     {DType::kF16, DType::kI32, DType::kF16}},
    {"a conversion decides nothing of its operand",
     [](Leaves& of) {
       return std::vector{Convert(of.w, DType::kF16) + of.f16, of.w};
     },
     {DType::kF16, DType::kF32}},
    {"a comparison is bool, of operands of one dtype",
     [](Leaves& of) {
       return std::vector{Less(of.w, of.f16), of.w};
     },
     {DType::kBool, DType::kF16}},
    {"a condition decides nothing",
     [](Leaves& of) {
       return std::vector{Select(Less(of.i, 1), of.w, of.f16), of.w};
     },
     {DType::kF16, DType::kF16}},
    {"stop_gradient, slices and reductions pass it on",
     [](Leaves& of) {
       Tensor stopped = StopGradient(Einsum1("... => 0", of.w));
       return std::vector{stopped * of.bf16, stopped, of.w};
     },
     {DType::kBF16, DType::kBF16, DType::kBF16}},
    {"a dtype that bits are read of is known",
     [](Leaves& of) {
       Tensor bits = Bitcast(of.w, DType::kU32);
       return std::vector{bits, of.w};
     },
     {DType::kU32, DType::kF32}},
    {"a first value is rounded",
     [](Leaves& of) {
       Tensor u = Param(of.graph, "u", {}, std::nullopt, DefaultInit);
       return std::vector{u + of.f16, u};
     },
     {DType::kF16, DType::kF16}},
};

TEST(OpenDTypeTest, Rules) {
  for (const Rule& rule : kRules) {
    Leaves of;
    std::vector<Tensor> tensors = rule.use(of);
    for (size_t k = 0; k < tensors.size(); ++k) {
      DecideDTypes(of.graph, {tensors[k].id});
      EXPECT_EQ(tensors[k].node().dtype, rule.dtypes[k]) << rule.name << k;
      EXPECT_FALSE(of.graph.IsOpen(tensors[k].id)) << rule.name;
    }
  }
}

TEST(OpenDTypeTest, TheDefaultOfTheGraph) {
  Graph graph;
  graph.set_default_dtype(DType::kBF16);
  Tensor w = Param(graph, "w", {}, std::nullopt, DefaultInit);
  Tensor sum = w + 1;
  DecideDTypes(graph, {sum.id});
  EXPECT_EQ(sum.node().dtype, DType::kBF16);
  EXPECT_EQ(Number(graph, 1).node().dtype, DType::kF32);
}

std::string ErrorOf(Tensor t) {
  const auto* error = std::get_if<ErrorSource>(&t.node().source);
  return error == nullptr ? "" : std::string(error->status.message());
}

TEST(OpenDTypeTest, AConflictNamesBothOrigins) {
  Leaves of;
  Tensor product = Compose(Arg(of.w, kHere), of.f16);
  EXPECT_EQ(ErrorOf(Add(Arg(Relu(product), {"net.cc", 8}), of.bf16)),
            "error in `relu(w * range(2)) + range(2)` (net.cc:8): relu(w * "
            "range(2)) is f16 and range(2) is bf16; convert one of them: "
            "f16(range(2)), in C++ Convert(range(2), DType::kF16)\n"
            "  f16: `range(2)` (net.cc:3), which w met at net.cc:7\n"
            "  bf16: `range(2)` (net.cc:4)");
  EXPECT_THAT(ErrorOf(of.w + of.bf16),
              HasSubstr("\n  f16: `range(2)` (net.cc:3), which w met at "
                        "net.cc:7\n  bf16: `range(2)` (net.cc:4)"));
  DecideDTypes(of.graph, {of.v.id});
  EXPECT_THAT(ErrorOf(of.v + of.bf16),
              HasSubstr("\n  f32: `v` (net.cc:2), by default, as it says "
                        "none\n"));
}

// The error of the number beside a tensor of the dtype.
std::string Beside(DType dtype, double number) {
  Graph graph;
  Tensor t = Named(Range(graph, 2, dtype), "t");
  return ErrorOf(Add(Arg(t, kHere), Arg(number, kHere)));
}

TEST(OpenDTypeTest, ANumberThatItsDTypeDoesNotHoldIsAnError) {
  EXPECT_EQ(Beside(DType::kI32, 2.5),
            "error in `2.5` (net.cc:7): i32 does not hold 2.5; write f32(t), "
            "in C++ Convert(t, DType::kF32), or another number");
  EXPECT_THAT(Beside(DType::kU8, 256), HasSubstr("write i64(t)"));
  EXPECT_THAT(Beside(DType::kI32, 0x1p31), HasSubstr("write i64(t)"));
  EXPECT_THAT(Beside(DType::kI64, 0x1p63), HasSubstr("write f32(t)"));
  EXPECT_THAT(Beside(DType::kU64, -1), HasSubstr("write i64(t)"));
  EXPECT_THAT(Beside(DType::kF16, 65520), HasSubstr("write f32(t)"));
  EXPECT_THAT(Beside(DType::kF32, -1e39), HasSubstr("write f64(t)"));
  EXPECT_THAT(Beside(DType::kF32, 1e-60), HasSubstr("write f64(t)"));
}

// What is converted, where f32 may skip some of its integers.
TEST(OpenDTypeTest, AConversionKeepsAllDigits) {
  Graph graph;
  const int32_t few = graph.AddStatic("few", int64_t{1} << 24);
  const int32_t many = graph.AddStatic("many", (int64_t{1} << 24) + 2);
  auto from = [&](Tensor t, DType dtype) {
    const Tensor converted = Convert(t, dtype);
    return graph[OperandsOf(converted.node().source)[0]].dtype;
  };
  for (const DType dtype : {DType::kI64, DType::kU64, DType::kF64}) {
    EXPECT_EQ(from(EmbedSymbol(graph, few), dtype), DType::kF32);
    EXPECT_EQ(from(EmbedSymbol(graph, many), dtype), dtype);
    EXPECT_EQ(from(Range(graph, 1 << 24, DType::kF32), dtype), DType::kF32);
    EXPECT_EQ(from(Range(graph, (1 << 24) + 2, DType::kF32), dtype), dtype);
    EXPECT_EQ(from(Offsets(graph, DType::kF32), dtype), dtype);
    EXPECT_EQ(from(Number(graph, 16777217), dtype), dtype);
    EXPECT_EQ(from(Number(graph, 16777216), dtype), DType::kF32);
  }
  EXPECT_EQ(from(EmbedSymbol(graph, many), DType::kI32), DType::kF64);
  EXPECT_EQ(from(EmbedSymbol(graph, many), DType::kF32), DType::kF32);
  EXPECT_EQ(from(Number(graph, 0.1), DType::kI32), DType::kF64);
  const Tensor literal = Literal(graph, {}, {0.1F}, {0.1});
  EXPECT_EQ(from(literal, DType::kF16), DType::kF64);
  EXPECT_EQ(from(Literal(graph, {}, {0.5F}, {0.5}), DType::kF64), DType::kF32);
  EXPECT_THAT(ErrorOf(Convert(Literal(graph, {}, {0x1p60F}), DType::kI64)),
              HasSubstr("an array holds integers below 2^53"));
}

TEST(OpenDTypeTest, ANumberMayBeRoundedToAFloat) {
  EXPECT_EQ(Beside(DType::kI32, -0x1p31), "");
  EXPECT_EQ(Beside(DType::kU64, 0x1p63), "");
  EXPECT_EQ(Beside(DType::kBF16, 0.1), "");
  EXPECT_EQ(Beside(DType::kF16, 65519), "");
  EXPECT_EQ(Beside(DType::kF16, 1e-8), "");
  EXPECT_EQ(Beside(DType::kF16, -HUGE_VAL), "");
  EXPECT_EQ(Beside(DType::kF64, 1e300), "");
}

TEST(OpenDTypeTest, WhatIsDecidedLaterIsCheckedThen) {
  Leaves of;
  Tensor sum = of.w + Number(of.graph, 70000, kHere);
  EXPECT_EQ(ErrorOf(sum * of.f16), "");
  const TensorId number = OperandsOf(sum.node().source)[1];
  EXPECT_EQ(CheckHeld(of.graph, number, {}).message(),
            "error in `70000` (net.cc:7): f16 does not hold 70000; write "
            "f32(range(2)), in C++ Convert(range(2), DType::kF32), or another "
            "number");
}

TEST(OpenDTypeTest, WhatIsRolledBackIsOpenAgain) {
  Leaves of;
  Tensor sum = of.w + of.literal;
  const Graph::Mark mark = of.graph.mark();
  Tensor decided = sum + of.f16;
  EXPECT_EQ(decided.node().dtype, DType::kF16);
  of.graph.RollBack(mark);
  EXPECT_TRUE(of.graph.IsOpen(of.w.id));
  EXPECT_EQ((sum + of.f64).node().dtype, DType::kF64);
  const auto& data = std::get<DataSource>(of.literal.node().source).data;
  EXPECT_EQ(data->AsDouble(0), 0.1F) << "rounded to f16 on the way";
}

}  // namespace
}  // namespace ocannl
