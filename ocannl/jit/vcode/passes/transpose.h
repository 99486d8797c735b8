// SPDX-License-Identifier: Apache-2.0
//
// TransposeLoads: strided loads of adjacent columns -> contiguous loads of
// rows, transposed in registers by log2(lanes) stages of shuffles.
//
//   vec i1 = 0 to 15 { ... x[i1, 0] ... }  ...  vec i1 { ... x[i1, 15] ... }
//     ->  16 loads of a row of x and 64 shuffles instead of 256 loads
#ifndef OCANNL_JIT_VCODE_PASSES_TRANSPOSE_H_
#define OCANNL_JIT_VCODE_PASSES_TRANSPOSE_H_

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

void TransposeLoads(Nest& nest, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_TRANSPOSE_H_
