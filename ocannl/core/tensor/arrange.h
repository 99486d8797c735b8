// SPDX-License-Identifier: Apache-2.0
//
// The cells of tensors in another order, some of them, or some again. Nothing
// is computed: the bits stay. A spec makes 0 and 1 of bools.
//
//   Tensor both = Stack("...|...->i, ...", {a, b});       // i of 2 cells
//   Tensor head = Part("...|t", x, 0, 16);                // the first 16
//   Tensor y = w * Stretch(x);    // x : 3, w : 2,3->4, Stretch(x) : 2,3
//
// `axis` is a slot with one name: see axis_spec.h.
#ifndef OCANNL_CORE_TENSOR_ARRANGE_H_
#define OCANNL_CORE_TENSOR_ARRANGE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// Tensors of one shape along a new axis, in order. At least one. Numbers and
// bools get the dtype of the others.
Tensor Stack(absl::string_view axis, absl::Span<const Tensor> parts,
             SourceLocation where = SourceLocation::Current());

// a0 b0 a1 b1 ... along the axis, which becomes twice as long.
Tensor Interleave(absl::string_view axis, Tensor a, Tensor b,
                  SourceLocation where = SourceLocation::Current());

// Every `step`-th cell along the axis, from cell `first` < step on. The size of
// the axis is a multiple of the step.
Tensor EveryNth(absl::string_view axis, Tensor a, int64_t step, int64_t first,
                SourceLocation where = SourceLocation::Current());

// The `size` cells from cell `start` on.
Tensor Part(absl::string_view axis, Tensor a, int64_t start, int64_t size,
            SourceLocation where = SourceLocation::Current());

// The same values, of any dtype, repeated along the axes that uses want and `a`
// does not have. Results of other operations are as large as their operands
// make them, and no larger; only parameters and other leaves take sizes from
// their uses.
Tensor Stretch(Tensor a, SourceLocation where = SourceLocation::Current());

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_ARRANGE_H_
