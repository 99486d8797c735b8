// SPDX-License-Identifier: Apache-2.0
//
// Widened: mixed precision inside of a block. A sum or a number of cells may be
// beyond what a narrow float holds although their quotient is not: f16 ends at
// 65,504, and f8e4m3 at 448. So a block that divides by a sum or by a number of
// cells takes its operands as f32, and converts its result.
//
//   Tensor wide = Widened(x);                         // f32 of an x of f16
//   Tensor mean = Einsum1("...|v => ...|0", wide) / 512;
//   Tensor y = InDType(mean, x.node().dtype);         // rounded once
//
// Of f32, f64 and integers, these are the same nodes as without it.
#ifndef OCANNL_TRAIN_BLOCKS_WIDE_H_
#define OCANNL_TRAIN_BLOCKS_WIDE_H_

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// `x` in the dtype that its values are computed in: f32 of a narrow float, or
// `x` itself. An open dtype is decided: the default.
Tensor Widened(Tensor x);

// Likewise, of an operand beside a tensor of `dtype`, which decides an open
// one.
Tensor Widened(Tensor x, DType dtype);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_WIDE_H_
