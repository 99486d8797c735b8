// SPDX-License-Identifier: Apache-2.0
//
// Threefry-4x32, the counter-based generator behind every random number:
// integers only, so that every tier and machine draws the same stream.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011), with the rotations of OCANNL, for which the paper's
// tables of safe numbers of rounds do not hold. A round is two mixes of both
// pairs of words. kCrypto has 20 rounds and five key injections: what the
// engine uses.
//
// kLight has two rounds and one injection, and is for OCANNL's numbers only:
// blocks of neighbouring counters depend on each other. Of 2^20 uniform numbers
// those at a distance of 128 have a correlation of -0.15, next ones 0.08.
//
// A block is four u32, of a key too, where OCANNL has a dtype uint4x32 of its
// own: no operation but these would be for it, and arrays of blocks have a last
// axis of four, which {w: uint4x32} of the notation adds.
#ifndef OCANNL_CORE_OPS_RANDOM_H_
#define OCANNL_CORE_OPS_RANDOM_H_

#include <array>
#include <cstdint>

#include "ocannl/core/ops/expr.h"

namespace ocannl {

enum class ThreefryVariant { kLight, kCrypto };

// The block of `key` and `counter` as numbers.
std::array<uint32_t, 4> Threefry(ThreefryVariant variant,
                                 const std::array<uint32_t, 4>& key,
                                 const std::array<uint32_t, 4>& counter);

// Word `word` (0 to 3) of the block of `key` and the counter spread from the
// single word `counter`; all operands are u32. A key has 2^32 blocks: the
// counter that follows is 0 again.
Expr ThreefryWord(ThreefryVariant variant, const std::array<Expr, 4>& key,
                  Expr counter, Expr word);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_RANDOM_H_
