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
// Cells of Uniform (tensor/initializer.h) share blocks. The interpreter and x86
// compute a block once for them, and Uniform1 costs up to four times as much.
// On one thread of a Xeon at 3 GHz a dropout of 512x64 cells takes 32 us with
// AVX-512 and 90 us with AVX2:
//
//   bazel run //experiments:bench -- --filter=draw/
//
// A block is four u32, of a key too, where OCANNL has a dtype uint4x32 of its
// own: no operation but these would be for it, and arrays of blocks have a last
// axis of four, which {w: uint4x32} of the notation adds.
#ifndef OCANNL_CORE_OPS_RANDOM_H_
#define OCANNL_CORE_OPS_RANDOM_H_

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

enum class ThreefryVariant { kLight, kCrypto };

// Whether `op` is one of the two rows of ops.def that draw words, and which
// generator it is.
inline bool IsDraw(Op op) {
  return op == Op::kThreefryLight || op == Op::kThreefryCrypto;
}
inline ThreefryVariant VariantOf(Op draw) {
  return draw == Op::kThreefryLight ? ThreefryVariant::kLight
                                    : ThreefryVariant::kCrypto;
}

// The words of u32: what the algorithm below needs of a type of words. Another
// type brings the same functions and ^ in its own namespace.
inline uint32_t Plus(uint32_t a, uint32_t b) { return a + b; }
inline uint32_t Rotl(uint32_t a, int amount) { return std::rotl(a, amount); }
inline Expr Plus(Expr a, Expr b) { return a + b; }
inline Expr Plus(Expr a, uint32_t b) { return a + b; }
inline Expr Rotl(Expr a, int amount) { return Rotl(a, LiteralLike(a, amount)); }

// The block of `key` and `counter`, of any type of words.
template <class T>
std::array<T, 4> ThreefryBlock(ThreefryVariant variant,
                               const std::array<T, 4>& key,
                               const std::array<T, 4>& counter) {
  constexpr std::array<int, 4> kRotations[2] = {{13, 15, 26, 6},
                                                {17, 29, 16, 24}};
  const std::array<T, 5> schedule = {
      key[0], key[1], key[2], key[3],
      key[0] ^ key[1] ^ key[2] ^ key[3] ^ 0x1BD11BDAu};
  std::array<T, 4> x = {
      Plus(counter[0], schedule[0]), Plus(counter[1], schedule[1]),
      Plus(counter[2], schedule[2]), Plus(counter[3], schedule[3])};
  // Two mixes, each followed by exchanging the odd words.
  auto round = [&x](const std::array<int, 4>& rotations) {
    for (int mix = 0; mix < 2; ++mix) {
      for (int pair = 0; pair < 2; ++pair) {
        T& even = x[2 * pair];
        T& odd = x[2 * pair + 1];
        even = Plus(even, odd);
        odd = Rotl(odd, rotations[2 * mix + pair]) ^ even;
      }
      std::swap(x[1], x[3]);
    }
  };
  const uint32_t groups = variant == ThreefryVariant::kLight ? 1 : 5;
  const int rounds = variant == ThreefryVariant::kLight ? 2 : 4;
  for (uint32_t group = 1; group <= groups; ++group) {
    for (int i = 0; i < rounds; ++i) round(kRotations[i % 2]);
    for (int j = 0; j < 4; ++j) x[j] = Plus(x[j], schedule[(group + j) % 5]);
    x[3] = Plus(x[3], group);
  }
  return x;
}

// The counter of four words that is spread from the single word `counter`.
template <class T>
std::array<T, 4> SpreadCounter(const T& counter) {
  return {counter, counter ^ 0x9E3779B9u, counter ^ 0x6C078965u,
          counter ^ Rotl(counter, 16)};
}

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
