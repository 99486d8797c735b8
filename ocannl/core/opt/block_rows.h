// SPDX-License-Identifier: Apache-2.0
//
// BlockRows: large temps are computed and used block by block of rows, so that
// they need the memory of one block. This is loop fusion with array contraction
// (Gao, Olsen, Sarkar and Thekkath, "Collective loop fusion for array
// contraction", 1992). With it, attention takes memory linear in the sequence
// (Rabe and Staats, "Self-attention does not need O(n^2) memory", 2021).
//
//   for i0 = 0 to 999 { for i1 { s[i0, i1] := x[i0] * y[i1]; } }
//   for i2 = 0 to 999 { for i3 { m[i2] := m[i2] + s[i2, i3]; } }
//     ->
//   for i4 = 0 to 63 { for i5 { s.rows[i4, i5] := x[i4] * y[i5]; } }
//   for i6 = 0 to 63 { for i7 { m[i6] := m[i6] + s.rows[i6, i7]; } }
//   for i8 = 0 to 63 { for i9 { s.rows_2[i8, i9] := x[i8 + 64] * y[i9]; } }
//   ...
//
// The blocks are statements of the program, and schedulers plan them as all
// others. The arena reuses the memory of one block for the next
// (runtime/plan_buffers.h). Each sum keeps the order of its terms, so the
// results have the same bits.
//
// Two groups of statements may use a temp: the forward and the backward part of
// a training step do. The second group computes the temp again if that is cheap
// (rematerialization; Chen, Xu, Zhang and Guestrin, "Training deep nets with
// sublinear memory cost", 2016).
#ifndef OCANNL_CORE_OPT_BLOCK_ROWS_H_
#define OCANNL_CORE_OPT_BLOCK_ROWS_H_

#include <cstdint>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// The bounds are tuned with `ocannl run STEP.ll --tier=x86-avx512 --threads=1
// --time`, where STEP.ll trains attention of 4 heads over 2048 letters. A step
// takes 1.44 s with whole temps, 1.10 s with blocks of 16 MiB, and 1.42 s with
// blocks of 32 MiB.
struct BlockRowsOptions {
  // Larger temps are computed in blocks.
  int64_t most_bytes = int64_t{32} << 20;
  // The bytes of all such temps in a block. A block is larger if it would
  // have too few rows for `least_terms` or `most_blocks`.
  int64_t block_bytes = int64_t{16} << 20;
  // The fewest terms that a block adds to a sum over rows. A product with
  // fewer terms is busy with loading and storing its result.
  int64_t least_terms = 64;
  // The most blocks of one temp. They bound the time to compile.
  int64_t most_blocks = 128;
  // A temp is computed again only if the number of terms of a cell, times the
  // number of groups that compute it again, is at most this.
  int64_t most_terms_again = 256;
};

// The program in blocks of rows. Its results have the same bits. A temp stays
// whole if its statements have no common rows, or if it would be computed again
// at too high a cost.
LoopProgram BlockRows(LoopProgram program, const BlockRowsOptions& options);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_BLOCK_ROWS_H_
