// SPDX-License-Identifier: Apache-2.0
//
// Proves the f32 bounds of tests/support/math_accuracy.h on all 2^32 numbers;
// about a minute per function on two cores:
//
//   bazel test --copt=-march=native --test_output=streamed
//       //ocannl/core/ops:math_exhaustive_test --test_filter='*Exp'
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"
#include "tests/support/block_evaluator.h"
#include "tests/support/math_accuracy.h"

namespace ocannl {
namespace {

constexpr int kBlock = BlockEvaluator::kBlock;

// The errors of op(x) over the numbers whose bits are in [begin, end).
Accuracy<float> Measure(Op op, uint64_t begin, uint64_t end) {
  ExprPool pool;
  Expr leaf = MakeLeaf(pool, DType::kF32, 0);
  BlockEvaluator evaluator(pool, ApplyOp(op, {leaf}, DType::kF32).id());
  float* xs = evaluator.leaf<float>(0);
  Accuracy<float> accuracy;
  for (uint64_t block = begin; block < end; block += kBlock) {
    for (int i = 0; i < kBlock; ++i) {
      const uint32_t bits = static_cast<uint32_t>(block + i);
      std::memcpy(&xs[i], &bits, sizeof(bits));
    }
    const float* ys = evaluator.Run<float>();
    for (int i = 0; i < kBlock; ++i) {
      if (std::isnan(xs[i]) && std::isnan(ys[i])) continue;
      accuracy.Add(xs[i], 0, ys[i], Reference(op, xs[i], 0.0f));
    }
  }
  return accuracy;
}

Accuracy<float> MeasureAll(Op op) {
  const uint64_t shards = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Accuracy<float>> parts(shards);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < shards; ++i) {
    threads.emplace_back([&parts, op, i, shards] {
      // In whole blocks.
      const uint64_t blocks = (uint64_t{1} << 32) / kBlock;
      parts[i] = Measure(op, blocks * i / shards * kBlock,
                         blocks * (i + 1) / shards * kBlock);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Accuracy<float> all;
  for (const Accuracy<float>& part : parts) all.Merge(part);
  return all;
}

class MathExhaustiveTest : public testing::TestWithParam<AccuracyBound> {};

TEST_P(MathExhaustiveTest, EveryF32KeepsTheBound) {
  const OpInfo& info = Info(GetParam().op);
  if (info.arity != 1) GTEST_SKIP();
  const auto start = std::chrono::steady_clock::now();
  const Accuracy<float> all = MeasureAll(GetParam().op);
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  absl::PrintF("%s: max %.4f ulp at %a, %.4f%% not nearest, %.1f seconds\n",
               info.text, all.max_ulp, all.worst_x,
               100.0 * all.not_nearest / all.count, seconds.count());
  EXPECT_LE(all.max_ulp, GetParam().f32);
}

INSTANTIATE_TEST_SUITE_P(Rows, MathExhaustiveTest,
                         testing::ValuesIn(AccuracyBounds()),
                         [](const auto& row) {
                           return std::string(Info(row.param.op).name);
                         });

}  // namespace
}  // namespace ocannl
