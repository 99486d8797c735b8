// SPDX-License-Identifier: Apache-2.0
//
// Losses: numbers to minimise, which are means over the elements that count.
// For narrow floats they are computed in f32 and rounded once, at the end
// (wide.h).
//
//   Tensor loss = CrossEntropy(logits, OneHot(labels, 10, DType::kF32), {});
//   Tensor masked = CrossEntropy(logits, OneHot(next, 256, DType::kF32),
//                                {.weights = NotEqual(next, kNone)});
#ifndef OCANNL_TRAIN_BLOCKS_LOSS_H_
#define OCANNL_TRAIN_BLOCKS_LOSS_H_

#include <optional>

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

struct CrossEntropyOptions {
  // In [0, 1]: the targets are mixed with that much of equal probabilities.
  double label_smoothing = 0;
  // What each element of the batch counts: floats, or bools for a mask. What
  // counts 0 is left out of the mean, too. It has batch axes only.
  std::optional<Tensor> weights = {};
};

// The sum over the only output axis of -target * log_softmax(logits), in nats,
// averaged over the batch by weight. `targets` are probabilities of the shape
// and dtype of the logits. The result has one cell. Error node: a smoothing out
// of range; integer targets; targets that depend on parameters, beside logits
// that do not.
//
// An element whose targets are all 0 is ignored: it does not count in the sum
// or the mean. Its logits may be infinite or NaN, and have gradients of 0.
// OneHot makes such targets of ids that are not a class, such as -100, the
// default of PyTorch's ignore_index. If nothing counts, the result is 0
// (PyTorch: NaN) and so are all gradients.
//
// A logit of -inf is a class of probability 0. If its target is 0 it adds
// nothing. Otherwise, and with smoothing, the result is inf, as in PyTorch.
Tensor CrossEntropy(Tensor logits, Tensor targets,
                    const CrossEntropyOptions& options = {},
                    SourceLocation where = SourceLocation::Current());

// The mean over all cells of the squared difference.
Tensor MeanSquaredError(Tensor values, Tensor targets,
                        SourceLocation where = SourceLocation::Current());

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_LOSS_H_
