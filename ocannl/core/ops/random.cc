// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/random.h"

#include <bit>
#include <utility>

namespace ocannl {
namespace {

uint32_t Rotl(uint32_t a, int amount) { return std::rotl(a, amount); }
uint32_t Plus(uint32_t a, uint32_t b) { return a + b; }
Expr Rotl(Expr a, int amount) { return Rotl(a, LiteralLike(a, amount)); }
Expr Plus(Expr a, double b) { return a + b; }
Expr Plus(Expr a, Expr b) { return a + b; }

// Two mixes, each followed by exchanging the odd words.
template <class T>
void Round(std::array<T, 4>& x, std::array<int, 4> rotations) {
  for (int mix = 0; mix < 2; ++mix) {
    for (int pair = 0; pair < 2; ++pair) {
      T& even = x[2 * pair];
      T& odd = x[2 * pair + 1];
      even = Plus(even, odd);
      odd = Rotl(odd, rotations[2 * mix + pair]) ^ even;
    }
    std::swap(x[1], x[3]);
  }
}

template <class T>
std::array<T, 4> Block(ThreefryVariant variant, const std::array<T, 4>& key,
                       const std::array<T, 4>& counter) {
  constexpr std::array<int, 4> kRotations[2] = {{13, 15, 26, 6},
                                                {17, 29, 16, 24}};
  const std::array<T, 5> schedule = {
      key[0], key[1], key[2], key[3],
      key[0] ^ key[1] ^ key[2] ^ key[3] ^ 0x1BD11BDAu};
  std::array<T, 4> x = {
      Plus(counter[0], schedule[0]), Plus(counter[1], schedule[1]),
      Plus(counter[2], schedule[2]), Plus(counter[3], schedule[3])};
  const uint32_t groups = variant == ThreefryVariant::kLight ? 1 : 5;
  const int rounds = variant == ThreefryVariant::kLight ? 2 : 4;
  for (uint32_t group = 1; group <= groups; ++group) {
    for (int i = 0; i < rounds; ++i) Round(x, kRotations[i % 2]);
    for (int j = 0; j < 4; ++j) x[j] = Plus(x[j], schedule[(group + j) % 5]);
    x[3] = Plus(x[3], group);
  }
  return x;
}

}  // namespace

std::array<uint32_t, 4> Threefry(ThreefryVariant variant,
                                 const std::array<uint32_t, 4>& key,
                                 const std::array<uint32_t, 4>& counter) {
  return Block(variant, key, counter);
}

Expr ThreefryWord(ThreefryVariant variant, const std::array<Expr, 4>& key,
                  Expr counter, Expr word) {
  std::array<Expr, 4> spread = {counter, counter ^ 0x9E3779B9u,
                                counter ^ 0x6C078965u,
                                counter ^ Rotl(counter, 16)};
  std::array<Expr, 4> block = Block(variant, key, spread);
  return Select(Equal(word, 0), block[0],
                Select(Equal(word, 1), block[1],
                       Select(Equal(word, 2), block[2], block[3])));
}

}  // namespace ocannl
