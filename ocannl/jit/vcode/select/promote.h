// SPDX-License-Identifier: Apache-2.0
//
// Scalar replacement (Callahan, Carr and Kennedy 1990): finds the private
// buffers of a nest that can be promoted to registers. Every cell that is read
// or written must be the same on each run of the unrolled code.
//
//   unroll i1 = 0 to 3 { vec i2 = 0 to 15 { acc[i1, i2] := ... } }
//     ->  acc is 4 registers of 16 lanes
#ifndef OCANNL_JIT_VCODE_SELECT_PROMOTE_H_
#define OCANNL_JIT_VCODE_SELECT_PROMOTE_H_

#include <cstdint>
#include <optional>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/select/unroll.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// Contiguous cells of a buffer, counted row-major.
struct CellRange {
  int64_t first;
  int lanes;  // of the register
  int size;   // cells
};

// The registers of one buffer by their first cell. Registers do not overlap.
struct PromotedBuffer {
  struct Entry {
    CellRange range;
    VReg reg = {};
  };
  absl::btree_map<int64_t, Entry> entries;

  // The entry that holds all of `range`, which is one that FindPromotable saw.
  Entry& EntryOf(const CellRange& range);
};

// `block` holds statements of the program's body.
absl::flat_hash_map<BufferId, PromotedBuffer> FindPromotable(
    const LoopProgram& program, const Block& block, Unroller& unroller);

// What `access` touches where the walk is, if that is the same range on each
// run.
std::optional<CellRange> CellRangeOf(const LoopProgram& program,
                                     const Unroller& unroller,
                                     const Access& access);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_PROMOTE_H_
