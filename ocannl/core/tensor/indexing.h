// SPDX-License-Identifier: Apache-2.0
//
// Tensors that index others: integers that say which cell of an axis is meant.
//
//   Tensor rows = Gather("v, d; b| => b|d", table, ids);   // table[ids[b]]
//   Tensor best = ArgMax("...|...->..., i", logits);
//
// An index outside of its axis means no cell: what is gathered there is 0, what
// is scattered there is lost, a one-hot row is all 0. Nothing is read or
// written out of range, and indices count from the start only. Sums run over
// the terms in memory order of what is summed, as those of einsums do: the bits
// depend on shapes alone. As in any sum, -0 becomes 0; what is gathered and not
// summed stays as it is.
//
// Indices are integers of any type; anything else is an error.
#ifndef OCANNL_CORE_TENSOR_INDEXING_H_
#define OCANNL_CORE_TENSOR_INDEXING_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// One output axis more, of `classes` cells: 1 in the cell that the id says,
// else 0. Ids count from 0. An id below 0, or not below `classes`, has zeros
// only, so that it can mark what has no class. Error node: ids that the host
// knows and that run from 1 or more to `classes`.
Tensor OneHot(Tensor ids, int64_t classes, DType dtype,
              SourceLocation where = SourceLocation::Current());

// The cells of `table` at `ids` along the one axis that the spec names in the
// first operand only. The gradient of the table is what ScatterAdd makes of
// that of the result.
Tensor Gather(absl::string_view spec, Tensor table, Tensor ids,
              SourceLocation where = SourceLocation::Current());

// The sums of the cells of `values` that have the same id. Each sum is at its
// id on the axis, of `size` cells, that the spec names only in the result:
// "b|d; b| => v, d".
Tensor ScatterAdd(absl::string_view spec, Tensor values, Tensor ids,
                  int64_t size,
                  SourceLocation where = SourceLocation::Current());

// The index, an i32, of the greatest or least cell along the axis; of several,
// the first. A NaN is both. The result does not have the axis. No gradient.
Tensor ArgMax(absl::string_view axis, Tensor a,
              SourceLocation where = SourceLocation::Current());
Tensor ArgMin(absl::string_view axis, Tensor a,
              SourceLocation where = SourceLocation::Current());

// Along the axis, cell 0 is that of `a` and cell i the sum of cell i - 1 and of
// cell i of `a`.
Tensor CumulativeSum(absl::string_view axis, Tensor a,
                     SourceLocation where = SourceLocation::Current());

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_INDEXING_H_
