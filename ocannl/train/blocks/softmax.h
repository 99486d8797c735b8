// SPDX-License-Identifier: Apache-2.0
//
// Softmax and its logarithm, without overflow: numbers are taken relative to
// the greatest one of their group. Narrow floats are computed in f32, and the
// results rounded once (wide.h).
//
//   Softmax("...|v => ...|0", x);             // over the only output axis
//   Softmax("...|t->... => ...|0->...", x);   // over the only input axis
//
// The spec says which numbers are a group: those that it reduces, to axes of
// size 1. The greatest number is a constant to the gradient, which is exact all
// the same: softmax does not change when all numbers of a group shift.
#ifndef OCANNL_TRAIN_BLOCKS_SOFTMAX_H_
#define OCANNL_TRAIN_BLOCKS_SOFTMAX_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// exp(x) / sum of exp(x) over the group. A group of infinities is NaN.
Tensor Softmax(absl::string_view spec, Tensor x,
               SourceLocation where = SourceLocation::Current());

// Likewise over the numbers of the group where `mask` is true; `mask` is of
// bools and broadcasts to x. Other numbers weigh exactly 0 whatever they are,
// and so does a whole group without any true.
Tensor MaskedSoftmax(absl::string_view spec, Tensor x, Tensor mask,
                     SourceLocation where = SourceLocation::Current());

// Softmax, or MaskedSoftmax if there is a mask, before its division: e / sum.
// Both are f32 of narrow floats. A sum of weighted numbers divides once.
struct SoftmaxParts {
  Tensor e;    // exp(x - greatest), and exactly 0 where the mask is false
  Tensor sum;  // of e over the group; 0.5 where the mask has no true
};
SoftmaxParts PartsOfSoftmax(absl::string_view spec, Tensor x,
                            std::optional<Tensor> mask,
                            SourceLocation where = SourceLocation::Current());

// log(softmax(x)) = x - max - log(sum of exp(x - max)).
Tensor LogSoftmax(absl::string_view spec, Tensor x,
                  SourceLocation where = SourceLocation::Current());

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_SOFTMAX_H_
