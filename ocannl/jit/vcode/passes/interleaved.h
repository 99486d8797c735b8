// SPDX-License-Identifier: Apache-2.0
//
// LowerInterleaved: pairs of accesses of stride 2 that are contiguous together
// become contiguous accesses and shuffles, which deinterleave what is loaded
// and interleave what is stored.
//
//   r0 = load w+0, stride 8            r2 = load w+0      16 numbers
//   r1 = load w+4, stride 8     ->     r3 = load w+64     16 numbers
//                                      r0, r1 = shuffles of r2, r3
#ifndef OCANNL_JIT_VCODE_PASSES_INTERLEAVED_H_
#define OCANNL_JIT_VCODE_PASSES_INTERLEAVED_H_

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

void LowerInterleaved(Nest& nest, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_INTERLEAVED_H_
