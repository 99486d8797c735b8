// SPDX-License-Identifier: Apache-2.0
//
// Legalize: operations that an instruction set lacks, as some that it has
// (operation legalization, by expansion).
//
//   r2 = less u64x4 r0, r1       in AVX2
//     ->  r3 = xor u64x4 r1, 2^63;  r4 = xor u64x4 r0, 2^63
//         r5 = greater i64x4 of u64 r3, r4;  r6 = extract i64x4 r5 at 2
//         r2 = shuffle boolx4 r5, r6 select32 136
//
// What neither an encoding nor an expansion does is left to a runtime helper.
#ifndef OCANNL_JIT_VCODE_PASSES_LEGALIZE_H_
#define OCANNL_JIT_VCODE_PASSES_LEGALIZE_H_

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// Expands what is not legal. Intermediate values are registers as all others
// are, so that constants are hoisted and registers allocated for all alike.
void Legalize(Nest& nest, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_LEGALIZE_H_
