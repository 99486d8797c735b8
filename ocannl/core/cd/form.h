// SPDX-License-Identifier: Apache-2.0
//
// How .cd text writes an assignment, shared by its printer and its parser:
//
//   w.grad =+ n35.grad * x ~logic:"k, i; k, j => i, j"
//
// A spec has a slot for each array in the value, as often as it occurs, and for
// the target. A slot has an index for each axis, in memory order. Each loop
// runs over the first axis that it alone indexes. Loops run in the order in
// which the target, the slots and the indices in the value name them. Otherwise
// all loops are listed after the spec: ["k" = 3; "i" = 2].
#ifndef OCANNL_CORE_CD_FORM_H_
#define OCANNL_CORE_CD_FORM_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "ocannl/core/assign/assignments.h"

namespace ocannl {

// The assignment with a source for each leaf in the text of its value, in that
// order, and the one that the target looks up last. Its value is as before.
Assign BySlots(const ExprPool& pool, const Assign& assign);

// Undoes BySlots: each source once, so that it is padded once.
void MergeSources(ExprPool& pool, Assign& assign);

// Whether every cell of the target is computed from the cells with the same
// indices of arrays of its dims, or from the only cell of arrays: no spec.
bool IsPointwise(const Assignments& code, const Assign& by_slots);

// Indexes the target and the sources so. Errors, which a spec avoids: the
// arrays have other dims; it looks up; its value `has_loops`.
absl::Status MakePointwise(const Assignments& code, bool has_loops,
                           Assign& assign);

// The axis that gives `loop` its extent, if there is one.
std::optional<int64_t> PlainExtent(const Assignments& code,
                                   const Assign& by_slots, IteratorId loop);

// What `source` reads a value of, if it is an array.
std::optional<int32_t> ArrayOf(const Source& source);

// Whether they read the same cells, and the same outside of arrays.
bool SameSource(const Source& a, const Source& b);

// Whether the text may leave the numbers of the array to whoever runs it: they
// are an input's, no literal's.
bool OmitsData(const Array& array);

}  // namespace ocannl

#endif  // OCANNL_CORE_CD_FORM_H_
