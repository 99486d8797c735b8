// SPDX-License-Identifier: Apache-2.0
//
// Stretch: a tensor that is as large as its uses want.
//
//   w * Stretch(x)    x : 3, w : 2,3->4    Stretch(x) : 2,3
#ifndef OCANNL_CORE_TENSOR_STRETCH_H_
#define OCANNL_CORE_TENSOR_STRETCH_H_

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// The same values, repeated along the axes that uses want and `a` does not
// have. Results of other operations are as large as their operands make them,
// and no larger; only parameters and other leaves take sizes from their uses.
Tensor Stretch(Tensor a, SourceLocation where = SourceLocation::Current());

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_STRETCH_H_
