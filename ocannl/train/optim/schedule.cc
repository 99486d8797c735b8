// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/optim/schedule.h"

#include <numbers>

#include "ocannl/core/base/check.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl::train {
namespace {

// step / steps, at most 1.
Tensor Progress(Graph& graph, int32_t step, int64_t steps) {
  CHECK_GT(steps, 0);
  return Min(EmbedSymbol(graph, step) / static_cast<double>(steps), 1);
}

}  // namespace

Tensor LinearRate(Graph& graph, int32_t step, double first, double last,
                  int64_t steps) {
  return first + PointMul(last - first, Progress(graph, step, steps));
}

Tensor CosineRate(Graph& graph, int32_t step, double first, double last,
                  int64_t steps) {
  const Tensor wave =
      Cos(PointMul(std::numbers::pi, Progress(graph, step, steps)));
  return last + PointMul((first - last) / 2, 1 + wave);
}

Tensor StepRate(Graph& graph, int32_t step, double first, double factor,
                int64_t every) {
  CHECK_GT(every, 0);
  const Tensor falls =
      Floor(EmbedSymbol(graph, step) / static_cast<double>(every));
  return PointMul(first, Pow(factor, falls));
}

Tensor ExponentialRate(Graph& graph, int32_t step, double first,
                       double factor) {
  return StepRate(graph, step, first, factor, 1);
}

Tensor Warmup(Tensor rate, int32_t step, int64_t steps) {
  CHECK_GT(steps, 0);
  const Tensor part =
      (EmbedSymbol(*rate.graph, step) + 1) / static_cast<double>(steps);
  return PointMul(rate, Min(part, 1));
}

}  // namespace ocannl::train
