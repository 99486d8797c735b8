// SPDX-License-Identifier: Apache-2.0
//
// Fold: peephole optimisations within basic blocks, and dead code elimination.
//
//   r0 = load x+0;    r1 = add r2, r0      ->   r1 = add r2, x+0
//   r0 = and r2, r3;  r1 = or r4, r0       ->   r1 = or_and r4, r2, r3
//   r0 = xor r2, sign; r1 = fma r0, r3, r4  ->   r1 = fnmadd r2, r3, r4
//   r0 = add v, r2;   v[0..8) = r0         ->   v = add v, r2
//   r0 = load x+0;    v = maximum v, r0;   v = maximum v, r1
//     ->   v = max r0, v;  r2 = unordered r1, x+0;  r3 = max r1, v;
//          v = or r3, r2
#ifndef OCANNL_JIT_VCODE_PASSES_FOLD_H_
#define OCANNL_JIT_VCODE_PASSES_FOLD_H_

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// Folds loads that have one use into memory operands, and eliminates dead code.
// A negation that only fmas use becomes part of them. or(a, and(b, c)) becomes
// ternary logic, if there is any. Without vfixupimm, of two links of a
// reduction by minimum or maximum only the second tests for NaN, the terms of
// both at once. Inserts into registers of which all other lanes are dead become
// copies.
void Fold(Nest& nest, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_FOLD_H_
