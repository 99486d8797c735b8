// SPDX-License-Identifier: Apache-2.0
//
// The arrays of a graph's tensors, and how code names and indexes them.
#ifndef OCANNL_CORE_ASSIGN_ARRAYS_H_
#define OCANNL_CORE_ASSIGN_ARRAYS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// The array of a tensor's value and of its gradient, "<name>.grad".
Array ValueArray(const Graph& graph, const Shapes& shapes, TensorId id);
Array GradientArray(const Graph& graph, const Shapes& shapes, TensorId id);

// Whether a run finds the values of the array, or leaves them.
bool IsStored(const Array& array);

// The cells of an array of shape `from` that an array of shape `of` reads, in
// the loops of CellLoops, if `from` is repeated. Its axes pair up with the last
// axes of each row, or it has one cell, whatever its axes. Null if neither.
std::optional<Indices> RepeatIndices(const Shape& from, const Shape& of);

// Appends `lhs = rhs` or, with `accum`, `lhs = accum(lhs, rhs)` for every cell;
// leaf k of `rhs`, in code.exprs, is the same cell of array sources[k], or its
// only cell. CHECK-fails if a source has other dims.
void AssignPointwise(Assignments& code, int32_t lhs, std::optional<Op> accum,
                     ExprId rhs, absl::Span<const int32_t> sources);

// Appends `lhs = source`, or with `accum` likewise, pointwise in row-major
// order: the arrays have as many cells as each other.
void AssignReshaped(Assignments& code, int32_t lhs, std::optional<Op> accum,
                    int32_t source);

// Which axis of its operand and result the scan sums along.
size_t AxisOf(const Shapes& shapes, const ScanSource& scan);

// Appends `lhs = sums`, or with `accum` likewise, where `sums` are the prefix
// sums (the inclusive scan) of `source` along the axis, or the suffix sums if
// `backwards`. The arrays have the same dims.
void AssignRunningSums(Assignments& code, int32_t lhs, std::optional<Op> accum,
                       int32_t source, size_t axis, bool backwards);

// Leaf `leaf` for operand k of `source`: its value as it is computed with,
// which a bitcast takes as it is stored.
Expr OperandLeaf(ExprPool& pool, const Graph& graph,
                 const ComputeSource& source, size_t k, int leaf);

// op(args...) of `source`, or its only operand.
Expr Term(const ComputeSource& source, absl::Span<const Expr> args,
          DType dtype);

// What the operands of `source` hold outside of their arrays.
double OutsideOf(const ComputeSource& source);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_ARRAYS_H_
