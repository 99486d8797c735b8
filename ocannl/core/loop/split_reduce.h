// SPDX-License-Identifier: Apache-2.0
//
// SplitReduce: a reduction along contiguous memory, reassociated into partial
// sums (one each of 64 vector lanes) and a tree reduction of these. y[i0] =+
// x[i0, k] with k in 0..99 becomes
//
//   for i0 = 0 to 7 {
//     vec i1 = 0 to 63 { y.lanes[i1] := 0; }
//     vec i2 = 0 to 63 { y.lanes[i2] := y.lanes[i2] + x[i0, i2]; }
//     vec i3 = 0 to 35 { y.lanes[i3] := y.lanes[i3] + x[i0, i3 + 64]; }
//     vec i4 = 0 to 31 { y.lanes[i4] := y.lanes[i4] + y.lanes[i4 + 32]; }
//     ... 16, 8, 4, 2, then 1
//     y[i0] := y[i0] + y.lanes[0] + 0;
//   }
//
// Fewer terms have fewer lanes, and the same tree without those. The `+ 0`
// makes a result of -0 one of 0.
//
// Changes roundings, so it belongs to Lower, and the axes of arrays alone
// decide (assign/sums/find_lanes.h). The error is that of sums of 1/64 of the
// length (`bazel run //experiments:bench -- --filter=reduce/,rows/`).
#ifndef OCANNL_CORE_LOOP_SPLIT_REDUCE_H_
#define OCANNL_CORE_LOOP_SPLIT_REDUCE_H_

#include <cstdint>
#include <vector>

#include "ocannl/core/assign/sums/find_lanes.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

// A run of one loop and so many terms at most, or of several loops and
// kMaxLanes terms at most, is one expression, the tree of its terms, without a
// buffer of lanes. The nest is then a map. Changes no bit. Of 1000 rows, 10
// terms take 1.4 us in place of 2.2, and 8 x 8 terms 5.6 us in place of 33.6
// (`run --time`).
inline constexpr int64_t kMaxTreeTerms = 16;

// Loops around one statement, target := accum(target, term).
struct Reduction {
  std::vector<IteratorId> iterators;
  std::vector<int64_t> extents;
  Set set;
  Op accum;
  bool first;  // the target is known to hold the neutral element
};

// The nest in lanes, which are a new private buffer. Takes new iterators from
// `next_iterator`.
Stmt SplitReduce(LoopProgram& program, const Reduction& reduction,
                 const LaneSplit& lanes, IteratorId& next_iterator);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_SPLIT_REDUCE_H_
