// SPDX-License-Identifier: Apache-2.0
//
// Tensors without axes: numbers, and sums and means over all cells. Truth: what
// is 0 is false.
//
//   Tensor loss = Mean(Square(y - net(x)));
//   Tensor share = x / Sum(x);               // of a batch too: over all cells
//   Tensor scaled = Sum(x) * x;              // `*` with a scalar is pointwise
//   Tensor chosen = x * (x && !Less(y, 1));  // bools count as 0 and 1
#ifndef OCANNL_CORE_TENSOR_SCALARS_H_
#define OCANNL_CORE_TENSOR_SCALARS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// Whether one of the arguments is a number, is declared to have no axes, or is
// an einsum whose result has none.
bool HasScalar(absl::Span<const Arg> args);

// Makes numbers, 0 and 1, of the bools among the operands of `op` from number
// `first` on, if others are numbers or `op` takes no bools. They have the dtype
// of the others; alone an open one (open_dtype.h). Without `op`: of a
// reduction.
void CountBools(Graph& graph, std::optional<Op> op, size_t first,
                SourceLocation where, std::vector<TensorId>& ids);

// The sum of all cells of a tensor, as one cell without axes, of its dtype; of
// bools, how many are true. Einsum1 (tensor.h) sums over some axes.
Tensor Sum(Tensor x, SourceLocation where = SourceLocation::Current());

// The sum divided by the number of cells. Narrow floats are computed in f32 and
// rounded once. Error node: a tensor that is not of floats. train::Mean
// (train/blocks/norm.h) takes a spec and is over some axes.
Tensor Mean(Tensor x, SourceLocation where = SourceLocation::Current());

// Logic on each element, of which numbers other than 0 are true. The results
// are bools; both operands are computed. One operand at least is a tensor.
Tensor operator&&(const Arg& a, const Arg& b);
Tensor operator||(const Arg& a, const Arg& b);
Tensor operator!(const Arg& a);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_SCALARS_H_
