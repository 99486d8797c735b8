// SPDX-License-Identifier: Apache-2.0
//
// HoistConstants: to hoist a constant (loop-invariant code motion), which a
// loop has as an operand or copies, is to load it before. The outermost loop in
// which the register pressure leaves some free counts, and the most frequent
// constants come first; masks of lanes, as of tails, are made before all.
//
//   loop { r1 = fma r0, r0, 3 }  ->  r2 = copy 3; loop { r1 = fma r0, r0, r2 }
#ifndef OCANNL_JIT_VCODE_PASSES_HOIST_CONSTANTS_H_
#define OCANNL_JIT_VCODE_PASSES_HOIST_CONSTANTS_H_

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

void HoistConstants(Nest& nest, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_HOIST_CONSTANTS_H_
