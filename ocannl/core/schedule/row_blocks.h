// SPDX-License-Identifier: Apache-2.0
//
// TransposeReduceRows: the last lanes of row reductions are reduced for a block
// of rows at once. They are transposed, so that each lane holds a row, in the
// place of a horizontal reduction per row, whose latency the rows would add up.
//
//   par i1 { lanes of x[i1, ..]; halve them to 16, 8, .. 1; s[i1] := ...;
//            vec i4 { y[i1, i4] := x[i1, i4] / s[i1]; } }
//     ->  par i5 { for i6 { lanes of x[32*i5 + i6, ..]; halve them to 16; }
//                  transpose 32 rows of 16 lanes; halve them to 8, .. 1;
//                  vec i7 { s[32*i5 + i7] := ...; }
//                  for i8 { vec i4 { y[32*i5 + i8, i4] := ...; } } }
//
// The remaining rows keep a loop of their own after it.
#ifndef OCANNL_CORE_SCHEDULE_ROW_BLOCKS_H_
#define OCANNL_CORE_SCHEDULE_ROW_BLOCKS_H_

#include <cstdint>
#include <optional>

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/core/schedule/writer.h"

namespace ocannl {

struct RowBlocks {
  Block stmts;
  int64_t size;  // rows of a block
};

// What stands in place of `rows`, a loop that FuseRows made. nullopt where
// no reduction's lanes can be transposed, the body has other statements than
// loops and assignments, a block of rows does not fit in L1, or
// parallel rows would be too few blocks.
std::optional<RowBlocks> TransposeReduceRows(NestWriter& writer,
                                             const For& rows,
                                             const Target& target);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_ROW_BLOCKS_H_
