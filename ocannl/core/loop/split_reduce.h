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
//     y[i0] := y[i0] + y.lanes[0];
//   }
//
// Changes roundings, so it belongs to Lower, and shapes and strides alone
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

inline constexpr int64_t kMinSplitExtent = 32;
inline constexpr int64_t kMaxLanes = 64;

// The linear stride of an access along each loop, in cells.
using Strides = std::vector<int64_t>;
Strides StridesOf(const Indices& indices, absl::Span<const int64_t> dims,
                  size_t num_loops);

// How the reduced loops become lanes: these are `rows` iterations of the
// loop `chunked`, if any, times all iterations of the loops `inner`. Loops are
// numbered from the outermost.
struct LaneSplit {
  std::optional<size_t> chunked;
  int64_t rows = 1;
  std::vector<size_t> inner;
};

// The lanes of a nest of loops over `extents`, or none where the target is
// better accumulated in order. There are lanes if
//  - the innermost reduced loops, which have stride 0 in the target, make one
//    run: a load that depends on one of them depends on all, contiguously;
//    there is such a load;
//  - the run has kMinSplitExtent iterations or more;
//  - no loop of the target has stride 1 in such a load, and the nest is no
//    contraction: of the loads that share a reduced loop no two depend each on
//    a loop of the target that the other does not depend on.
std::optional<LaneSplit> FindLanes(absl::Span<const int64_t> extents,
                                   const Strides& target,
                                   const std::vector<Strides>& loads);

// The lanes of an accumulation of `code`, if it is to be split.
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
