// SPDX-License-Identifier: Apache-2.0
//
// EllipsisHint: what a spec with `...` would say if the axes of `...`
// broadcast, which they do not: for each operand the same axes are meant.
//
//   "...ij; ...jk => ...ik"  of 2,3 and 5,3,4     ->   "ij; njk => nik"
//                            of 1,2,3 and 5,3,4   ->   "0ij; njk => nik"
#ifndef OCANNL_CORE_SHAPE_ELLIPSIS_H_
#define OCANNL_CORE_SHAPE_ELLIPSIS_H_

#include <string>

#include "absl/types/span.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

// How to write the spec, for operands of these shapes, where a size of 0 is not
// known: with names for the axes of `...`, paired from the right, and position
// 0 where an operand has 1 cell and another one more. Empty: the sizes do not
// fit like this either, or `...` stands for the same axes everywhere already.
std::string EllipsisHint(const EinsumSpec& spec,
                         absl::Span<const Shape> operands);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_ELLIPSIS_H_
