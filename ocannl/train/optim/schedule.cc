// SPDX-License-Identifier: Apache-2.0
//
// Each schedule is computed in f64 and rounded once. Sums of products of whole
// numbers of steps keep the relative error small at both ends, where 1 - t and
// 1 + cos(pi t) would cancel.
#include "ocannl/train/optim/schedule.h"

#include <numbers>

#include "ocannl/core/base/check.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl::train {
namespace {

// The number of the step as f64, which holds it up to 2^53. A conversion keeps
// its dtype among numbers, which would make it f32.
Tensor StepNumber(Graph& graph, int32_t step) {
  const Tensor number = EmbedSymbol(graph, step);
  graph.Decide(number.id, DType::kF64, {});
  return Convert(number, DType::kF64);
}

// The steps of `steps` that are done and that are left.
struct Progress {
  Progress(Graph& graph, int32_t step, int64_t steps)
      : all(static_cast<double>(steps)),
        done(Min(StepNumber(graph, step), all)),
        left(all - done) {
    CHECK_GT(steps, 0);
  }

  double all;
  Tensor done, left;
};

Tensor Rounded(Tensor rate) { return Convert(rate, DType::kF32); }

}  // namespace

Tensor LinearRate(Graph& graph, int32_t step, double first, double last,
                  int64_t steps) {
  const Progress progress(graph, step, steps);
  return Rounded(
      (PointMul(first, progress.left) + PointMul(last, progress.done)) /
      progress.all);
}

Tensor CosineRate(Graph& graph, int32_t step, double first, double last,
                  int64_t steps) {
  const Progress progress(graph, step, steps);
  // (1 + cos(pi t)) / 2 = sin(pi (1 - t) / 2)^2
  auto part = [&](Tensor count) {
    return Square(Sin(PointMul(std::numbers::pi / 2, count / progress.all)));
  };
  return Rounded(PointMul(first, part(progress.left)) +
                 PointMul(last, part(progress.done)));
}

Tensor StepRate(Graph& graph, int32_t step, double first, double factor,
                int64_t every) {
  CHECK_GT(every, 0);
  const Tensor falls =
      Floor(StepNumber(graph, step) / static_cast<double>(every));
  return Rounded(PointMul(first, Pow(factor, falls)));
}

Tensor ExponentialRate(Graph& graph, int32_t step, double first,
                       double factor) {
  return StepRate(graph, step, first, factor, 1);
}

Tensor Warmup(Tensor rate, int32_t step, int64_t steps) {
  CHECK_GT(steps, 0);
  const auto all = static_cast<double>(steps);
  const Tensor part = Min(StepNumber(*rate.graph, step) + 1, all) / all;
  const DType dtype = DecidedDType(rate);
  return Convert(PointMul(InDType(rate, DType::kF64), part), dtype);
}

}  // namespace ocannl::train
