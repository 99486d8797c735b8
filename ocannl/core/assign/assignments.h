// SPDX-License-Identifier: Apache-2.0
//
// The nodes of assignments (ir.h), by their bare names, and walks over them:
// for the engine's own code. Headers for users say assign_ir::Assign.
#ifndef OCANNL_CORE_ASSIGN_ASSIGNMENTS_H_
#define OCANNL_CORE_ASSIGN_ASSIGNMENTS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "ocannl/core/assign/ir.h"

namespace ocannl {

using assign_ir::Assign;
using assign_ir::Assignment;
using assign_ir::BlockComment;
using assign_ir::LookedUpAxis;
using assign_ir::ReadArray;
using assign_ir::ReadIndex;
using assign_ir::ReadLookup;
using assign_ir::Source;

// Calls `visit` with each array that `source` reads.
void WalkArrays(const Source& source,
                absl::FunctionRef<void(const ReadArray&)> visit);
void WalkArrays(Source& source, absl::FunctionRef<void(ReadArray&)> visit);

// Whether `assign` reads the array as a source.
bool ReadsSource(const Assign& assign, int32_t array);

// Whether some assignment `is` so.
bool AnyAssign(const Assignments& code,
               absl::FunctionRef<bool(const Assign&)> is);

// Whether a reduction of `dtype` by `accum` ends with `+ 0`, so that a result
// of zero is +0: sums and extremes of floats. Then no term of either zero
// changes the bits of a sum, and the order of terms not those of an extreme.
bool EndsWithZero(Op accum, DType dtype);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_ASSIGNMENTS_H_
