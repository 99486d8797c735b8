// SPDX-License-Identifier: Apache-2.0
//
// EllipsisHint: the spec to write in the place of one with `...`, if its axes
// should broadcast. The axes of `...` are the same for each operand and do not
// broadcast.
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

// The spec with names for the axes of `...`, for operands of these shapes, in
// which 0 is an unknown size. Axes are paired from the right, and position 0 is
// an axis where an operand has 1 cell and another one more. Empty if the sizes
// do not fit like this either, or `...` is the same axes everywhere already.
std::string EllipsisHint(const EinsumSpec& spec,
                         absl::Span<const Shape> operands);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_ELLIPSIS_H_
