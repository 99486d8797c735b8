// SPDX-License-Identifier: Apache-2.0
//
// Schedules of the learning rate: tensors of one cell, functions of the number
// of updates so far, which is the value of a static index.
//
//   const int32_t step = graph.AddStatic("step", std::nullopt);
//   Tensor rate = Warmup(CosineRate(graph, step, 1e-3, 1e-5, 1000), step, 100);
//
// Rates are f32. They are computed in f64 and rounded once, so the relative
// error is below 1e-7 for any number of steps up to 2^53; Warmup adds as much.
#ifndef OCANNL_TRAIN_OPTIM_SCHEDULE_H_
#define OCANNL_TRAIN_OPTIM_SCHEDULE_H_

#include <cstdint>

#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// From `first` at step 0 evenly to `last` at step `steps`, and there from then
// on. All functions here CHECK-fail for a number of steps that is not above 0.
Tensor LinearRate(Graph& graph, int32_t step, double first, double last,
                  int64_t steps);

// The same along half a cosine: last + (first - last) (1 + cos(pi t)) / 2 with
// t = step / steps. Loshchilov and Hutter, "SGDR", 2017, without restarts.
Tensor CosineRate(Graph& graph, int32_t step, double first, double last,
                  int64_t steps);

// first * factor^floor(step / every). A factor of n equal parts of a fall, such
// as std::pow(0.1, 1.0 / n), is itself rounded: 1e-16 n of relative error.
Tensor StepRate(Graph& graph, int32_t step, double first, double factor,
                int64_t every);

// first * factor^step.
Tensor ExponentialRate(Graph& graph, int32_t step, double first, double factor);

// The schedule `rate` times (step + 1) / steps in the first `steps` steps, in
// the dtype of `rate`. Goyal et al., "Accurate, Large Minibatch SGD", 2017.
Tensor Warmup(Tensor rate, int32_t step, int64_t steps);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_OPTIM_SCHEDULE_H_
