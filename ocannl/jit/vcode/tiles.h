// SPDX-License-Identifier: Apache-2.0
//
// Tiles: the private buffers of a nest that live in registers: every cell that
// is read or written is the same on each run of the unrolled code.
//
//   unroll i1 = 0 to 3 { vec i2 = 0 to 15 { acc[i1, i2] := ... } }
//     ->  acc is 4 registers of 16 lanes
#ifndef OCANNL_JIT_VCODE_TILES_H_
#define OCANNL_JIT_VCODE_TILES_H_

#include <cstdint>
#include <optional>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/unroll.h"

namespace ocannl::jit {

// Cells of a buffer that are side by side, counted row-major.
struct Chunk {
  int64_t first;
  int lanes;  // of the register
  int valid;  // cells
};

// The registers of one buffer by their first cell. Registers do not overlap.
struct Tile {
  struct Part {
    Chunk chunk;
    int32_t reg = -1;
  };
  absl::btree_map<int64_t, Part> parts;

  // The part that holds all of `chunk`, which is one that FindTiles saw.
  Part& PartOf(const Chunk& chunk);
};

// By buffer. `block` holds statements of the program's body.
absl::flat_hash_map<int32_t, Tile> FindTiles(const LoopProgram& program,
                                             const Block& block,
                                             Unroller& unroller);

// What `access` touches where the walk is, if that is one chunk on each run.
std::optional<Chunk> ChunkOf(const LoopProgram& program,
                             const Unroller& unroller, const Access& access);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_TILES_H_
