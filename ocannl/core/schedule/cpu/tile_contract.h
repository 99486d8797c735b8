// SPDX-License-Identifier: Apache-2.0
//
// TileContract: tiles the loops of a contraction (contract.h). Loops are cut
// and strip-mined from the outermost one inwards, and loops over tiles are
// interchanged outwards. Each tile is a microkernel: its statements are
// distributed, and k becomes the outermost loop of the sum.
#ifndef OCANNL_CORE_SCHEDULE_CPU_TILE_CONTRACT_H_
#define OCANNL_CORE_SCHEDULE_CPU_TILE_CONTRACT_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/schedule/cpu/contract.h"

namespace ocannl {

struct Microkernel {
  // For each statement its loops, outermost first; of the sum k comes first.
  std::vector<std::vector<NestLoop>> stmts;
  std::vector<NestLoop> k;             // reduced loops
  std::optional<NestLoop> m, m_tiles;  // of the sum; the one over such tiles
  size_t m_range = 0, k_range = 0;     // which of the plan's ranges it is of

  NestRegion region() const {
    return {stmts.front()[0].iterator, stmts.back()[0].iterator};
  }
};

struct TiledContract {
  // Microkernels from `first` up to before `end` share a block of B.
  struct Block {
    NestRegion region;
    size_t first, end;
  };

  NestRegion region;  // all of it
  size_t sum = 0;     // which of the statements of a microkernel
  std::vector<Microkernel> kernels;
  std::vector<Block> blocks;
  std::vector<NestLoop> cascades;  // loops over blocks of a cascaded sum
};

absl::StatusOr<TiledContract> TileContract(NestRewriter& rewriter,
                                           const Contraction& contraction);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_TILE_CONTRACT_H_
