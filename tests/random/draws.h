// SPDX-License-Identifier: Apache-2.0
//
// What random tensors hold, for the tests of their distribution.
#ifndef TESTS_RANDOM_DRAWS_H_
#define TESTS_RANDOM_DRAWS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl {

using Cells = std::vector<float>;

// A random tensor, or one of an x of ones that it is given.
using MakeDraw = std::function<Tensor(Tensor ones, train::Training& training)>;

struct DrawOptions {
  uint32_t seed = 42;
  int skipped = 0;  // so many draws come before
  int64_t cells = int64_t{1} << 18;
};

// The cells of the draw, a vector of f32, in each of the steps.
std::vector<Cells> DrawSteps(const MakeDraw& make, const DrawOptions& options,
                             absl::Span<const int64_t> steps);

// Those of step 0.
Cells DrawCells(const MakeDraw& make, const DrawOptions& options = {});

// The first value of a parameter of `rows` outputs and `columns` inputs.
Cells FirstValue(const Initializer& init, int64_t rows, int64_t columns);

// Uniform1, Normal and so on, without a counter.
MakeDraw Of(decltype(&Uniform) random, DType dtype = DType::kF32);
MakeDraw Dropout(double rate);

// A word of Threefry's light variant for each cell, as the number from 0 to 1
// that Uniform1 makes of a word; `step` and `ordinal` are words of the key.
Tensor LightUniform(Tensor step, uint32_t ordinal);
MakeDraw Light();

// Made of mean 0 and variance 1.
Cells Standardised(Cells cells);

// The correlation of each cell of `a`, standardised, with that of `b` which is
// `lag` behind, in standard deviations of that of independent cells.
double Correlation(const Cells& a, const Cells& b, int64_t lag);

}  // namespace ocannl

#endif  // TESTS_RANDOM_DRAWS_H_
