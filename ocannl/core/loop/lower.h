// SPDX-License-Identifier: Apache-2.0
//
// Lower: Assignments -> LoopProgram. Fixes every rounding of the program:
//
//   y =+ a * b       y[i] := fma(a[i, k], b[k], y[i])     one rounding a step
//   y =- a * b       y[i] := fma(neg(a[i, k]), b[k], y[i])
//   y =: 0; y =+ e   y[i] := e[i]     where y =+ reaches each cell once
//   y =:+ e          zero_out y; then the accumulation
//
// A reduction of 32 contiguous elements or more, in a nest where no loop over
// the result could be vectorised instead, is summed in 64 lanes, then by a tree
// (split_reduce.h). Every other one keeps the order of its loops.
//
// Floats of 8 and 16 bits are widened to f32 where they are read and rounded
// where they are stored; their sums are summed in f32 (widen.h).
//
// An array becomes a buffer by its memory mode: what is kept after a run, and
// data of the host, is `in`, `out` or `inout` by what the code does with it,
// the last too where the code leaves a part of it as it was; virtual is
// `virtual`; never_virtual, local and device_only are `local`; what is in the
// merge buffer of the stream is `merge`; every other is `temp`.
#ifndef OCANNL_CORE_LOOP_LOWER_H_
#define OCANNL_CORE_LOOP_LOWER_H_

#include "absl/status/statusor.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Errors: the code reads an array that is not kept after a run and that it does
// not compute first; memory modes contradict each other; what is to be
// effectively constant is not constant; an array of more than 2^62 bytes; loops
// deeper than core/ops/depth.h allows.
absl::StatusOr<LoopProgram> Lower(const Assignments& assignments);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_LOWER_H_
