// SPDX-License-Identifier: Apache-2.0
//
// Lower: Assignments -> LoopProgram. Fixes every rounding of the program:
//
//   y =+ a * b       y[i] := fma(a[i, k], b[k], y[i])     one rounding a step
//   y =- a * b       y[i] := fma(neg(a[i, k]), b[k], y[i])
//   y =: 0; y =+ e   y[i] := e[i]     where y =+ reaches each cell once
//   y =:+ e          zero_out y; then the accumulation
//
// A reduction of contiguous elements is summed in up to 64 lanes, then by a
// tree (split_reduce.h). Contractions and other reductions keep the order of
// their loops. Long sums of floats are cut into blocks before
// (assign/sums/cascade.h). Loops of one iteration are left out here.
//
// A sum or extreme of floats that is zero is +0. A chain of products, which may
// underflow, is followed by y := y + 0, or the maps that read y add 0.
//
// Floats of 8 and 16 bits are widened to f32 where they are read and rounded
// where they are stored; their sums are summed in f32 (widen.h).
//
// An array becomes a buffer by its memory mode. Arrays that are kept after a
// run, and data of the host, are `in`, `out` or `inout`, by their accesses. An
// array that the code leaves unchanged in part is `inout`. Virtual arrays are
// `virtual`; never_virtual, local and device_only ones are `local`. The
// stream's merge buffer is `merge`; all others are `temp`.
#ifndef OCANNL_CORE_LOOP_LOWER_H_
#define OCANNL_CORE_LOOP_LOWER_H_

#include "absl/status/statusor.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Errors: the code reads an array that is not kept after a run before it
// computes it; memory modes contradict each other. Also errors: arrays that
// must be effectively constant and are not, arrays of more than 2^62 bytes, and
// loops deeper than core/ops/depth.h allows.
absl::StatusOr<LoopProgram> Lower(const Assignments& assignments);
// The same; each assignment is freed when it is lowered.
absl::StatusOr<LoopProgram> Lower(Assignments&& assignments);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_LOWER_H_
