// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/random.h"

namespace ocannl {

std::array<uint32_t, 4> Threefry(ThreefryVariant variant,
                                 const std::array<uint32_t, 4>& key,
                                 const std::array<uint32_t, 4>& counter) {
  return ThreefryBlock(variant, key, counter);
}

Expr ThreefryWord(ThreefryVariant variant, const std::array<Expr, 4>& key,
                  Expr counter, Expr word) {
  const std::array<Expr, 4> block =
      ThreefryBlock(variant, key, SpreadCounter(counter));
  return Select(Equal(word, 0), block[0],
                Select(Equal(word, 1), block[1],
                       Select(Equal(word, 2), block[2], block[3])));
}

}  // namespace ocannl
