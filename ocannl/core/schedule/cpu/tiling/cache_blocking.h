// SPDX-License-Identifier: Apache-2.0
//
// Cache blocking: the operands of a contraction that are packed, and the sizes
// kc and nc (Goto and van de Geijn 2008). A panel of B that stays in L2 has kc
// steps. The panels that stay there while all tiles of m run have nc columns.
// Computed from capacities, in closed form.
//
//   2047 x 2048 x 2050 on AVX-512   ->   B packed, kc = 1032, nc = 128
#ifndef OCANNL_CORE_SCHEDULE_CPU_TILING_CACHE_BLOCKING_H_
#define OCANNL_CORE_SCHEDULE_CPU_TILING_CACHE_BLOCKING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ocannl/core/schedule/cpu/tiling/register_blocking.h"
#include "ocannl/core/schedule/cpu/tiling/shape.h"
#include "ocannl/core/schedule/cpu/tiling/tile_range.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

struct CacheBlocks {
  // The operands that are packed, by their numbers: A and B.
  std::optional<size_t> packed_a, packed_b;
  // Of the outermost reduced loop; their size is kc.
  std::vector<TileRange> k;
  // Loop order: blocks of k run inside of the outermost loop and outside of all
  // others, where a block holds what all tiles read of the operands. So may the
  // blocks of a cascaded sum (plan.h).
  bool k_outside_tiles = false;
  // nc / nr. It divides the number of panels. Where B is not packed and each k
  // reads less than a page of a longer row, the panels that take a page.
  int64_t panels = 1;
};

CacheBlocks BlockForCaches(const ContractShape& shape,
                           const RegisterBlocks& tiles, const Target& target);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_TILING_CACHE_BLOCKING_H_
