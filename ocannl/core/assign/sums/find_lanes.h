// SPDX-License-Identifier: Apache-2.0
//
// FindLanes: the form of a reduction, decided from the axes of its arrays.
//
//   y[b] =+ x[b, k]              64 lanes: the terms of a cell are side by side
//   y[b, o] =+ x[b, k] * w[o, k] a chain: a contraction, summed in order
//   y[k] =+ x[b, k]              a chain: the terms of a cell are apart
//
// The form decides how a sum rounds, so it is a part of what a program means.
// The extents of axes that stay do not matter: a row alone has the bits that it
// has among others. loop/split_reduce.h makes loops of it.
#ifndef OCANNL_CORE_ASSIGN_SUMS_FIND_LANES_H_
#define OCANNL_CORE_ASSIGN_SUMS_FIND_LANES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/assignments.h"

namespace ocannl {

inline constexpr int64_t kMaxLanes = 64;

// The index of an array on each axis, and the sizes of the axes. Loop k of the
// nest is Iterator({k}); a loop of one iteration is a loop here.
struct AxisAccess {
  absl::Span<const Affine> indices;
  absl::Span<const int64_t> dims;
};

// Whether the assignment is a contraction: of two loads that share a reduced
// loop, one has a loop that stays and that the other lacks. An axis of one cell
// without a loop is one along which the load is repeated: it counts as any loop
// that stays.
bool IsContraction(const Assignments& code, const Assign& assign);

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
//  - the nest is not a contraction.
// The extents of loops that stay do not matter. No run reaches across an axis
// of one cell without a loop.
//
// The lane of a term depends on the extents of the inner loops of the run
// alone. So terms of 0 at the end of the outermost reduced loop change no bit.
std::optional<LaneSplit> FindLanes(absl::Span<const int64_t> extents,
                                   const AxisAccess& target,
                                   const std::vector<AxisAccess>& loads);

// An array of partial sums that CascadeSums adds (cascade.h). They have the
// form of the whole sum, in lanes or in order, although their loops over blocks
// stay.
struct PartialSum {
  std::vector<bool> is_block;  // of each axis: whether it is one of blocks
  bool in_lanes;
};
using PartialSums = absl::flat_hash_map<int32_t, PartialSum>;  // by the array

// The loops over blocks of an assignment whose target is a partial sum.
std::vector<IteratorId> BlockLoops(const Assign& assign,
                                   const PartialSums& sums);

// The lanes of an accumulation of `code`, if it has some. This decides the form
// of every sum: without lanes it is a chain. It sees the axes of the
// assignment's arrays, with the loops of one iteration. Extremes are exact in
// any order, so short ones, and integers, stay in order. Partial `sums` have
// the form of the whole sum.
std::optional<LaneSplit> FindLanes(const Assignments& code,
                                   const Assign& assign,
                                   const PartialSums& sums);

// How many lanes a nest of loops over `extents` has.
int64_t NumLanes(absl::Span<const int64_t> extents, const LaneSplit& lanes);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_SUMS_FIND_LANES_H_
