// SPDX-License-Identifier: Apache-2.0
//
// Threefry-4x32, the counter-based generator behind every random number:
// integers only, so that every tier and machine draws the same stream.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011), in the variants of OCANNL: kLight has two rounds of two
// mixes and one key injection, kCrypto 40 mixes and five injections.
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
// single word `counter`; all operands are u32.
Expr ThreefryWord(ThreefryVariant variant, const std::array<Expr, 4>& key,
                  Expr counter, Expr word);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_RANDOM_H_
