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
// decide. The error is that of sums of 1/64 of the length. The constants are
// part of what a program means; `bazel run //experiments:bench --
// --filter=reduce/,rows/` shows what they make of it.
#ifndef OCANNL_CORE_LOOP_SPLIT_REDUCE_H_
#define OCANNL_CORE_LOOP_SPLIT_REDUCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

inline constexpr int64_t kMaxLanes = 64;
// A run of one loop and so many terms at most, or of several loops and
// kMaxLanes terms at most, is one expression, the tree of its terms, without a
// buffer of lanes. The nest is then a map. Changes no bit. Of 1000 rows, 10
// terms take 1.4 us in place of 2.2, and 8 x 8 terms 5.6 us in place of 33.6
// (`run --time`).
inline constexpr int64_t kMaxTreeTerms = 16;

// The index of an array on each axis, and the sizes of the axes. Loop k of the
// nest is Iterator({k}); a loop of one iteration is a loop here.
struct AxisAccess {
  absl::Span<const Affine> indices;
  absl::Span<const int64_t> dims;
};

// How the reduced loops become lanes: these are `rows` iterations of the
// loop `chunked`, if any, times all iterations of the loops `inner`. Loops are
// numbered from the outermost.
struct LaneSplit {
  std::optional<size_t> chunked;
  int64_t rows = 1;
  std::vector<size_t> inner;
};

// The lanes of a nest of loops over `extents`, or none where the terms of a
// cell are accumulated in order. A loop stays if the target's indices have it,
// and is reduced otherwise. There are lanes if
//  - the innermost reduced loops make one run: they are the last axes of each
//    load that has one of them, as a whole but for the outermost one, and there
//    is such a load;
//  - the nest is no contraction: of two loads that share a reduced loop, none
//    has a loop that stays and that the other lacks.
// The extents of loops that stay do not matter. An axis of one cell without a
// loop is one along which the load is repeated: it counts as any loop that
// stays, and no run reaches across it.
//
// The lane of a term depends on the extents of the inner loops of the run
// alone. So terms of 0 at the end of the outermost reduced loop change no bit.
std::optional<LaneSplit> FindLanes(absl::Span<const int64_t> extents,
                                   const AxisAccess& target,
                                   const std::vector<AxisAccess>& loads);

// The lanes of an accumulation of `code`, if it has some. This decides the form
// of every sum: without lanes it is a chain. It sees the axes of the
// assignment's arrays, with the loops of one iteration. Extremes are exact in
// any order, so short ones, and integers, stay in order.
std::optional<LaneSplit> FindLanes(const Assignments& code,
                                   const Assign& assign);

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
