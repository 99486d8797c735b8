// SPDX-License-Identifier: Apache-2.0
//
// Tensors without axes: numbers, and sums and means over all cells.
//
//   Tensor loss = Mean(Square(y - net(x)));
//   Tensor share = x / Sum(x);               // of a batch too: over all cells
//   Tensor scaled = Sum(x) * x;              // `*` with a scalar is pointwise
#ifndef OCANNL_CORE_TENSOR_SCALARS_H_
#define OCANNL_CORE_TENSOR_SCALARS_H_

#include "absl/types/span.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// Whether one of the arguments is a number, is declared to have no axes, or is
// an einsum whose result has none.
bool HasScalar(absl::Span<const Arg> args);

// The sum of all cells of a tensor, as one cell without axes, of its dtype.
// Error node: a tensor of bools. Einsum1 (tensor.h) sums over some axes.
Tensor Sum(Tensor x, SourceLocation where = SourceLocation::Current());

// The sum divided by the number of cells. Narrow floats are computed in f32 and
// rounded once. Error node: a tensor that is not of floats. train::Mean
// (train/blocks/norm.h) takes a spec and is over some axes.
Tensor Mean(Tensor x, SourceLocation where = SourceLocation::Current());

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_SCALARS_H_
