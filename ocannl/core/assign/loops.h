// SPDX-License-Identifier: Apache-2.0
//
// The loops of an assignment: which of them its indices have, and the same
// assignment with other loops.
#ifndef OCANNL_CORE_ASSIGN_LOOPS_H_
#define OCANNL_CORE_ASSIGN_LOOPS_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/index/projections.h"

namespace ocannl {

// Loops that reach every cell of an array once: one per axis of more than one
// cell, and the index of each axis.
struct CellLoops {
  explicit CellLoops(const Dims& dims);

  LoopExtents extents;
  Indices indices;
};

// Appends the loops of the indices that `order` does not have.
void AddLoops(const Indices& indices, std::vector<IteratorId>& order);

// Whether an index moves with the loop: 2*i + k depends on i and k.
bool DependsOn(absl::Span<const Affine> indices, IteratorId loop);

// Whether a loop, also of one iteration, is not in the indices `lhs`.
bool Reduces(const LoopExtents& extents, const Indices& lhs);

// Calls `visit` with each index of the assignment.
void WalkIndices(const Assign& assign,
                 absl::FunctionRef<void(const Affine&)> visit);

// Whether the nest is a sum in an array of `dims`: it reduces, or may reach a
// cell more than once, or some never.
bool IsSum(const Projections& nest, const Dims& dims);

// Replaces each loop in the indices by its value. Static indices stay.
void SubstituteLoops(Indices& indices,
                     absl::FunctionRef<Affine(IteratorId)> value);
void SubstituteLoops(Assign& assign,
                     absl::FunctionRef<Affine(IteratorId)> value);

// The nest with the loops of `order` alone, in that order.
Projections Reordered(Projections nest, absl::Span<const IteratorId> order);

// The loops in the indices of the target, in the order of its axes, and these
// indices.
Projections TargetLoops(const Assign& assign);

// Removes loops of one iteration from assignments that reduce nothing, from
// number `begin` of the list on. A reduction keeps them: its axes decide the
// order of its terms (sums/find_lanes.h).
void RemoveUnitLoops(Assignments& code, size_t begin = 0);

// Whether the assignment reaches each cell of its target, and exactly once.
// Conservative: false when unsure, and for a scatter.
bool ReachesAll(const Assignments& code, const Assign& assign);
bool ReachesOnce(const Assignments& code, const Assign& assign);

// Whether the term is the constant +0.
bool IsZero(const Assignments& code, const Assign& assign);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_LOOPS_H_
