// SPDX-License-Identifier: Apache-2.0
//
// Mean, LayerNorm, RmsNorm and BatchNorm compute narrow floats in f32, with all
// sums, counts and quotients, and round their result once (wide.h).
//
// Normalisation of each element of the batch by itself, over all its output
// axes:
//
//   LayerNorm   scale * (x - mean) / sqrt(variance + epsilon) + shift
//   RmsNorm     scale * x / sqrt(mean of squares + epsilon)
//
// The variance is the mean of the squared distances from the mean, in a second
// pass. Ba, Kiros, Hinton, "Layer normalization" (2016); Zhang, Sennrich, "Root
// mean square layer normalization" (2019).
//
// BatchNorm: of each channel over the batch, by the formula of LayerNorm. The
// channel is the last output axis; the batch row and any output axes before it
// are what it is normalised over: 8|16 and 8|28,28,16 both have 16 channels.
//
// In training, mean and variance are those of the batch, the variance divided
// by the number n of cells (biased). The running ones move towards them after
// each step:
//   running = (1 - momentum) * running + momentum * batch's
// where the batch's variance is divided by n - 1 (unbiased), as in PyTorch; of
// n = 1, by 1. In inference, mean and variance are the running ones. They begin
// with 0 and 1, are f32 beside narrow floats, and no gradient reaches them.
// Ioffe, Szegedy, "Batch normalization" (2015).
#ifndef OCANNL_TRAIN_BLOCKS_NORM_H_
#define OCANNL_TRAIN_BLOCKS_NORM_H_

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/scalars.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {

inline constexpr double kNormEpsilon = 1e-5;

using ocannl::Mean;  // over all cells: scalars.h
using ocannl::Sum;

// The sum that `spec` says, divided by the number of cells of x for each cell
// of it. Error: x is of integers.
Tensor Mean(absl::string_view spec, Tensor x,
            SourceLocation where = SourceLocation::Current());

// Parameters: scale (1 at first), shift (0), of the output row of x.
class LayerNorm {
 public:
  explicit LayerNorm(const ParamScope& scope, double epsilon = kNormEpsilon,
                     SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  Tensor scale_, shift_;
  double epsilon_;
};

// Parameter: scale (1 at first), of the output row of x.
class RmsNorm {
 public:
  explicit RmsNorm(const ParamScope& scope, double epsilon = kNormEpsilon,
                   SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  Tensor scale_;
  double epsilon_;
};

struct BatchNormOptions {
  double momentum = 0.1;  // in [0, 1]
  double epsilon = kNormEpsilon;
};

// Parameters: scale (1 at first), shift (0). States: running_mean,
// running_variance. Error node: a momentum out of range.
class BatchNorm {
 public:
  explicit BatchNorm(const ParamScope& scope,
                     const BatchNormOptions& options = {},
                     SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x, Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  Tensor Normalise(Tensor centred, Tensor variance, DType dtype) const;

  ParamScope scope_;
  BatchNormOptions options_;
  Tensor scale_, shift_, mean_, variance_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_NORM_H_
