// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/wide.h"

#include "ocannl/core/tensor/open_dtype.h"

namespace ocannl::train {

Tensor Widened(Tensor x) { return InDType(x, ComputeDType(DecidedDType(x))); }

Tensor Widened(Tensor x, DType dtype) {
  DecideDType(*x.graph, x.id, dtype);
  return Widened(x);
}

}  // namespace ocannl::train
