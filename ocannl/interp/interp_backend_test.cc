// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/interp_backend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/ops/eval.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/ops/rows.h"
#include "tests/support/must_parse.h"

namespace ocannl::interp {
namespace {

void RunOnce(const LoopProgram& program, std::vector<NdArray*> arrays,
             std::vector<int64_t> statics = {}) {
  absl::StatusOr<std::unique_ptr<Executable>> executable =
      InterpBackend().Compile(program);
  CHECK_OK(executable);
  std::vector<std::byte*> buffers;
  for (NdArray* array : arrays) buffers.push_back(array->data());
  (*executable)->Run(buffers, statics);
}

template <class T>
std::vector<T> ValuesOf(const NdArray& array) {
  absl::Span<const T> values = array.values<T>();
  return std::vector<T>(values.begin(), values.end());
}

using Floats = std::vector<float>;

TEST(InterpTest, MultipliesAMatrixBySlicesOfAnother) {
  LoopProgram program = MustParse(R"(
      matmul (n : [0..1]):
        in x : f32[2, 2, 3]; in w : f32[2, 3]; out z : f32[2, 2];
        zero_out z;
        for i0 = 0 to 1 { for i1 = 0 to 1 { for i2 = 0 to 2 {
          z[i0, i1] := fma(x[n, i0, i2], w[i1, i2], z[i0, i1]);
        } } })");
  NdArray x = NdArray::Of<float>({2, 2, 3}, {1, 2, 3, 4, 5, 6,  //
                                             7, 8, 9, 10, 11, 12});
  NdArray w = NdArray::Of<float>({2, 3}, {1, 0, -1, 2, 1, 0});
  NdArray z = NdArray::Of<float>({2, 2}, {9, 9, 9, 9});
  RunOnce(program, {&x, &w, &z}, {0});
  EXPECT_EQ(ValuesOf<float>(z), Floats({-2, 4, -2, 13}));
  RunOnce(program, {&x, &w, &z}, {1});
  EXPECT_EQ(ValuesOf<float>(z), Floats({-2, 22, -2, 31}));
}

TEST(InterpTest, ReadsWhatEarlierStatementsStored) {
  LoopProgram program = MustParse(R"(
      twice ():
        inout a : f32[1]; out b : f32[2];
        b[0] := a[0]; a[0] := a[0] + 1; b[1] := a[0];)");
  NdArray a = NdArray::Of<float>({1}, {5});
  NdArray b(DType::kF32, {2});
  RunOnce(program, {&a, &b});
  EXPECT_EQ(ValuesOf<float>(a), Floats({6}));
  EXPECT_EQ(ValuesOf<float>(b), Floats({5, 6}));
}

TEST(InterpTest, LocalsLiveForOneIteration) {
  LoopProgram program = MustParse(R"(
      sums ():
        in x : f64[2, 3]; out y : f64[2];
        par i0 = 0 to 1 {
          let v0 : f64 := f64(0);
          unroll i1 = 0 to 2 { v0 := v0 + x[i0, i1]; }
          y[i0] := v0;
        })");
  NdArray x = NdArray::Of<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  NdArray y(DType::kF64, {2});
  RunOnce(program, {&x, &y});
  EXPECT_EQ(ValuesOf<double>(y), std::vector<double>({6, 15}));
}

TEST(InterpTest, AnIndexIsAValue) {
  LoopProgram program = MustParse(R"(
      iota (n):
        out y : i64[4]; out z : f32[4];
        for i0 = 0 to 3 { y[3 - i0] := [2*i0 + n - 1]; z[i0] := f32([n]); })");
  NdArray y(DType::kI64, {4});
  NdArray z(DType::kF32, {4});
  RunOnce(program, {&y, &z}, {int64_t{1} << 40});
  int64_t n = int64_t{1} << 40;
  EXPECT_EQ(ValuesOf<int64_t>(y),
            (std::vector<int64_t>{n + 5, n + 3, n + 1, n - 1}));
  EXPECT_EQ(ValuesOf<float>(z), Floats(4, 0x1p40f));
}

TEST(InterpTest, LoopsAreEnteredAgainAtTheirStart) {
  LoopProgram program = MustParse(R"(
      conv ():
        in x : i32[6]; in k : i32[2]; out y : i32[3]; out last : i32[1];
        zero_out y;
        for i0 = 0 to 2 { vec i1 = 0 to 1 {
          y[i0] := y[i0] + x[2*i0 + i1] * k[1 - i1];
        } }
        for i2 = 0 to 5 { last[0] := x[i2]; })");
  NdArray x = NdArray::Of<int32_t>({6}, {1, 2, 3, 4, 5, 6});
  NdArray k = NdArray::Of<int32_t>({2}, {10, 1});
  NdArray y(DType::kI32, {3});
  NdArray last(DType::kI32, {1});
  RunOnce(program, {&x, &k, &y, &last});
  EXPECT_EQ(ValuesOf<int32_t>(y), std::vector<int32_t>({21, 43, 65}));
  EXPECT_EQ(ValuesOf<int32_t>(last), std::vector<int32_t>({6}));
}

TEST(InterpTest, ALoopOfNoIterationsDoesNothing) {
  LoopProgram program;
  program.name = "nothing";
  program.buffers = {{"y", DType::kF32, Role::kInOut, {1}}};
  Access y{.buffer = {0}, .indices = {Affine(0)}};
  ExprId one = Literal(program.exprs, DType::kF32, 1).id();
  program.body.stmts = {For{LoopKind::kFor, {0}, 0, {{Set{y, one}}}}};
  NdArray array = NdArray::Of<float>({1}, {7});
  RunOnce(program, {&array});
  EXPECT_EQ(ValuesOf<float>(array), Floats({7}));
}

TEST(InterpTest, AnyByteButZeroIsTrueAndOneIsStored) {
  LoopProgram program = MustParse(R"(
      bools ():
        in a : bool[3]; out b : bool[3]; out c : bool[3];
        for i0 = 0 to 2 { b[i0] := a[i0]; c[i0] := not(a[i0]); })");
  NdArray a(DType::kBool, {3});
  NdArray b(DType::kBool, {3});
  NdArray c(DType::kBool, {3});
  std::array<uint8_t, 3> bytes = {0, 1, 0x82};
  std::memcpy(a.data(), bytes.data(), 3);
  RunOnce(program, {&a, &b, &c});
  EXPECT_EQ(ValuesOf<bool>(b), std::vector<bool>({false, true, true}));
  EXPECT_EQ(std::to_integer<int>(b.data()[2]), 1);
  EXPECT_EQ(ValuesOf<bool>(c), std::vector<bool>({true, false, false}));
}

TEST(InterpTest, LooksUpWhatIsThere) {
  LoopProgram program = MustParse(R"(
      rows ():
        in x : f32[3, 2]; in ids : i32[5]; in far : u64[2]; in near : u8[1];
        out y : f32[5, 2]; out z : f32[2]; out w : f32[1];
        for i0 = 0 to 4 {
          for i1 = 0 to 1 { y[i0, i1] := x[ids[i0], -i1 + 1]; }
        }
        for i2 = 0 to 1 { z[i2] := x[far[i2], 0] - x[1, far[i2]]; }
        w[0] := x[near[0], 1] * 2;)");
  NdArray x = NdArray::Of<float>({3, 2}, {1, 2, 3, 4, 5, -0.0f});
  NdArray ids = NdArray::Of<int32_t>({5}, {2, -1, 0, 3, 1 << 30});
  NdArray far = NdArray::Of<uint64_t>({2}, {1, uint64_t{1} << 63});
  NdArray near = NdArray::Of<uint8_t>({1}, {1});
  NdArray y(DType::kF32, {5, 2});
  NdArray z(DType::kF32, {2});
  NdArray w(DType::kF32, {1});
  RunOnce(program, {&x, &ids, &far, &near, &y, &z, &w});
  EXPECT_EQ(ValuesOf<float>(y), Floats({0, 5, 0, 0, 2, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(std::signbit(y.values<float>()[0]));
  EXPECT_FALSE(std::signbit(y.values<float>()[2]));
  EXPECT_EQ(ValuesOf<float>(z), Floats({3 - 4, 0}));
  EXPECT_EQ(ValuesOf<float>(w), Floats({8}));
}

TEST(InterpTest, ScattersWhereThereAreCells) {
  LoopProgram program = MustParse(R"(
      rows ():
        in x : f32[5, 2]; in ids : i32[5]; in far : u64[2];
        out y : f32[3, 2]; inout z : f32[2]; inout k : i32[4];
        zero_out y;
        for i0 = 0 to 4 {
          for i1 = 0 to 1 {
            y[ids[i0], -i1 + 1] := y[ids[i0], -i1 + 1] + x[i0, i1];
          }
        }
        for i2 = 0 to 1 { z[far[i2]] := x[i2, 1]; }
        for i3 = 0 to 3 { k[k[i3]] := k[i3] + 1:i32; })");
  NdArray x = NdArray::Of<float>({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, -0.0f});
  NdArray ids = NdArray::Of<int32_t>({5}, {2, -1, 0, 2, 1 << 30});
  NdArray far = NdArray::Of<uint64_t>({2}, {1, uint64_t{1} << 63});
  NdArray y(DType::kF32, {3, 2});
  NdArray z = NdArray::Of<float>({2}, {-3, -4});
  NdArray k = NdArray::Of<int32_t>({4}, {2, 3, 0, 4});
  RunOnce(program, {&x, &ids, &far, &y, &z, &k});
  EXPECT_EQ(ValuesOf<float>(y), Floats({6, 5, 0, 0, 10, 8}));
  EXPECT_EQ(ValuesOf<float>(z), Floats({-3, 2}));
  // 2 goes to cell 2, which then says 3: cell 3, which said 4 before.
  EXPECT_EQ(ValuesOf<int32_t>(k), std::vector<int32_t>({2, 3, 3, 4}));
}

TEST(InterpTest, DerivedOpsAreExpanded) {
  LoopProgram program = MustParse(R"(
      derived ():
        in x : f32[2]; in key : u32[4]; out y : f32[2]; out r : u32[1];
        for i0 = 0 to 1 { y[i0] := relu(x[i0]); }
        r[0] := threefry_light(key[0], key[1], key[2], key[3], u32(7), u32(2));
      )");
  NdArray x = NdArray::Of<float>({2}, {-3, 4});
  NdArray key = NdArray::Of<uint32_t>({4}, {1, 2, 3, 4});
  NdArray y(DType::kF32, {2});
  NdArray r(DType::kU32, {1});
  RunOnce(program, {&x, &key, &y, &r});
  EXPECT_EQ(ValuesOf<float>(y), Floats({0, 4}));
  std::array<uint32_t, 4> counter = {7, 7 ^ 0x9E3779B9u, 7 ^ 0x6C078965u,
                                     7 ^ 7u << 16};
  EXPECT_EQ(r.values<uint32_t>()[0],
            Threefry(ThreefryVariant::kLight, {1, 2, 3, 4}, counter)[2]);
}

TEST(InterpTest, DeepExpressionsNeedNoStack) {
  LoopProgram program;
  program.name = "deep";
  program.buffers = {{"y", DType::kU32, Role::kInOut, {1}}};
  Access y{.buffer = {0}, .indices = {Affine(0)}};
  Expr value = program.Read(y);
  for (int i = 0; i < 100'000; ++i) value = value + 1;
  program.body.stmts = {Set{y, value.id()}};
  NdArray array(DType::kU32, {1});
  RunOnce(program, {&array});
  EXPECT_EQ(array.values<uint32_t>()[0], 100'000u);
}

TEST(InterpTest, ThreadsMayShareAnExecutable) {
  LoopProgram program = MustParse(R"(
      count (n : [0..7]):
        out y : i64[1000];
        for i0 = 0 to 999 { y[i0] := [2*n + i0]; })");
  auto executable = InterpBackend().Compile(program);
  CHECK_OK(executable);
  std::vector<NdArray> arrays(8, NdArray(DType::kI64, {1000}));
  std::vector<std::thread> threads;
  for (int64_t n = 0; n < 8; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < 20; ++i) (*executable)->Run({arrays[n].data()}, {n});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int64_t n = 0; n < 8; ++n) {
    EXPECT_EQ(arrays[n].values<int64_t>()[999], 2 * n + 999);
  }
}

// Numbers at which operations go wrong, in every type.
std::vector<Constant> Specials(DType dtype) {
  std::vector<double> values = {0,    -0.0, 1,    -1,    2,   0.5,     -2.5,
                                3,    7.5,  31,   32,    255, 1e-310,  1e-40,
                                1e10, 3e38, 1e19, -1e19, NAN, INFINITY};
  std::vector<Constant> specials;
  for (double value : values) specials.push_back(MakeConstant(dtype, value));
  specials.push_back(MakeConstant(dtype, -INFINITY));  // the least integer
  return specials;
}

void PutConstants(const std::vector<Constant>& constants, NdArray* array) {
  size_t size = SizeOf(array->dtype());
  for (size_t i = 0; i < constants.size(); ++i) {
    std::memcpy(array->data() + i * size, &constants[i].bits, size);
  }
}

// Compares op on all triples of special numbers with its value on constants.
void CheckPrimitive(Op op, DType condition, DType operand, DType result) {
  std::vector<std::vector<Constant>> args(3);
  std::vector<DType> types(Info(op).arity, operand);
  types[0] = condition;
  int64_t size = 1;
  for (DType dtype : types) size *= Specials(dtype).size();
  std::vector<NdArray> arrays;
  for (size_t k = 0, period = 1; k < types.size(); ++k) {
    std::vector<Constant> specials = Specials(types[k]);
    for (int64_t i = 0; i < size; ++i) {
      args[k].push_back(specials[i / period % specials.size()]);
    }
    period *= specials.size();
    arrays.emplace_back(types[k], Dims{size});
    PutConstants(args[k], &arrays[k]);
  }
  std::vector<Constant> expected;
  for (int64_t i = 0; i < size; ++i) {
    std::vector<Constant> at;
    for (size_t k = 0; k < types.size(); ++k) at.push_back(args[k][i]);
    expected.push_back(EvalPrimitive(op, result, at));
  }

  LoopProgram program;
  std::vector<Expr> reads;
  std::vector<NdArray*> pointers;
  const BufferId target =
      program.buffers.Add({"y", result, Role::kOut, {size}});
  for (DType dtype : types) {
    const BufferId x = program.buffers.Add({"x", dtype, Role::kIn, {size}});
    reads.push_back(program.Read(Access{x, {Affine(Iterator({0}))}}));
  }
  Set set{Access{target, {Affine(Iterator({0}))}},
          ApplyOp(op, reads, result).id()};
  program.body.stmts = {For{LoopKind::kFor, {0}, size, {{set}}}};
  NdArray y(result, {size});
  NdArray want(result, {size});
  PutConstants(expected, &want);
  pointers.push_back(&y);
  for (NdArray& array : arrays) pointers.push_back(&array);
  RunOnce(program, pointers);
  EXPECT_TRUE(SameBits(y, want))
      << Info(op).name << " of " << Name(operand) << " to " << Name(result);
}

TEST(InterpTest, EveryPrimitiveOfEveryType) {
  int checked = 0;
  for (Op op : AllOps()) {
    if (!Info(op).primitive) continue;
    for (DType operand : kDTypes) {
      for (DType wanted : kDTypes) {
        std::vector<DType> types(Info(op).arity, operand);
        if (op == Op::kSelect) types[0] = DType::kBool;
        absl::StatusOr<DType> result = ResultType(op, types, wanted);
        bool depends = op == Op::kConvert || op == Op::kBitcast;
        if (!result.ok() || (!depends && wanted != operand)) continue;
        CheckPrimitive(op, types[0], operand, *result);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 200);
}

}  // namespace
}  // namespace ocannl::interp
