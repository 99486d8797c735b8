// SPDX-License-Identifier: Apache-2.0
//
// The passes over VCode, in the order of pipeline.cc. A pass computes the same
// values in other instructions. Most are peephole optimisations within basic
// blocks.
#ifndef OCANNL_JIT_VCODE_PASSES_PASSES_H_
#define OCANNL_JIT_VCODE_PASSES_PASSES_H_

#include <optional>

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// Pairs of accesses of stride 2 that are contiguous together become contiguous
// accesses and shuffles, which deinterleave what is loaded and interleave what
// is stored.
//
//   r0 = load w+0, stride 8            r2 = load w+0      16 numbers
//   r1 = load w+4, stride 8     ->     r3 = load w+64     16 numbers
//                                      r0, r1 = shuffles of r2, r3
void LowerInterleaved(Nest& nest, Isa isa);

// Strided loads of at least four adjacent columns become loads of parts of rows
// that fill a register, and shuffles. A register gets the rows r, r + 4, ... so
// that shuffles within 128 bits transpose blocks of 4 x 4.
//
//   vec i1 = 0 to 15 { ... x[i1, 0] ... }  ...  vec i1 { ... x[i1, 15] ... }
//     ->  32 loads of half a row of x and 48 shuffles instead of 256 loads
void TransposeLoads(Nest& nest, Isa isa);

// With ternary logic, an `and` that only an `or` uses becomes part of it.
//
//   r0 = and r2, r3;  r1 = or r4, r0   ->   r1 = or_and r4, r2, r3
void FuseOrAnds(Nest& nest, Isa isa);

// Without vfixupimm, of two links of a reduction by minimum or maximum only the
// second tests for NaN, the terms of both at once.
//
//   r0 = load x+0;  v = maximum v, r0;  v = maximum v, r1
//     ->  r0 = load x+0;  v = max r0, v;
//         r2 = unordered r1, x+0;  r3 = max r1, v;  v = or r3, r2
void PairExtremes(Nest& nest, Isa isa);

// A negation of which every use is an operand of an fma, and the only negated
// one of it, becomes part of them.
//
//   r0 = xor r2, -0.0;  r1 = fma r0, r3, r4   ->   r1 = fnmadd r2, r3, r4
void FuseNegations(Nest& nest, Isa isa);

// Dead code elimination: drops pure instructions whose result nothing uses.
void EliminateDeadCode(Nest& nest, Isa isa);

// An insert into a register whose other lanes are dead becomes a copy, or its
// value is computed there: as in a reduction that halves a vector again and
// again. The live lanes are those of a backward data-flow analysis.
//
//   r0 = add v, r2;  v[0..8) = r0   ->   v = add v, r2
void FoldInserts(Nest& nest, Isa isa);

// A load that has one use becomes a memory operand.
//
//   r0 = load x+0;  r1 = add r2, r0   ->   r1 = add r2, x+0
void FoldLoads(Nest& nest, Isa isa);

// Operations that the set lacks become some that it has (operation
// legalization, by expansion), and some square roots become fmas, which work
// beside the divider (legalize_root.cc). What neither an encoding nor an
// expansion does is left to a runtime helper. Intermediate values are registers
// like all others, so that constants are hoisted and registers allocated for
// all alike.
//
//   r2 = less u64x4 r0, r1       in AVX2
//     ->  r3 = xor u64x4 r1, 2^63;  r4 = xor u64x4 r0, 2^63
//         r5 = greater i64x4 of u64 r3, r4;  r6 = extract i64x4 r5 at 2
//         r2 = shuffle boolx4 r5, r6 select32 136
void Legalize(Nest& nest, Isa isa);

// Rematerialization (Briggs, Cooper and Torczon 1992) of loads: where more
// values are live than there are registers, a loaded one is loaded again before
// its next use. It is the one whose next use is farthest (Belady 1966). A spill
// would store another value, such as a sum, in each iteration.
//
//   r0 = load x+0;  r1 = add r2, r0;  ...  r9 = add r8, r0
//     ->  r0 = load x+0;  r1 = add r2, r0;  ...  r10 = load x+0;
//         r9 = add r8, r10
void RematerializeLoads(Nest& nest, Isa isa);

// Software prefetching (Mowry, Lam and Gupta 1992): a loop that computes with a
// strip of an operand reads the lines of the next strip into L2, spread over
// its iterations. Such strips are rows of an operand larger than the caches:
// hardware prefetchers do not follow as many streams. Where a loop only packs
// the strip, the loop that computes with the packed one prefetches. What comes
// after a loop, such as the stores of its sums, is prefetched before it.
//
//   loop i1 { loop i2 { ... fma ..., [p0, stride 0] }  store p2, v8 }
//     ->  loop i1 { prefetch p2; loop i2 { prefetch p1+36864; ... } ... }
void InsertPrefetches(Nest& nest, Isa isa);

// To hoist a constant (loop-invariant code motion), which a loop has as an
// operand or copies, is to load it before. The outermost loop in which the
// register pressure leaves some free counts, and the most frequent constants
// come first; masks of lanes, as of tails, are made before all.
//
//   loop { r1 = fma r0, r0, 3 }  ->  r2 = copy 3; loop { r1 = fma r0, r0, r2 }
void HoistConstants(Nest& nest, Isa isa);

// Stores of whole vectors to a result that exceeds the caches become
// non-temporal: they do not read the lines that they overwrite, nor evict
// others. Such stores need aligned addresses, so the nest gets a second
// version, for a buffer that does not begin at a cache line.
//
//   store z+0, r0   ->   if z is aligned { stream z+0, r0; fence }
//                        else            { store z+0, r0 }
void StreamStores(Nest& nest, Isa isa);

// The result whose stores StreamStores changes: the only buffer that the nest
// writes, without reading it, if it is large and its whole vectors are aligned.
std::optional<BufferId> StreamedBuffer(const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_PASSES_H_
