// SPDX-License-Identifier: Apache-2.0
//
// Inference of dtypes: type inference by unification (Robinson, "A
// machine-oriented logic based on the resolution principle", 1965), in a graph
// that grows. A leaf that says no dtype has an open one; operations make open
// dtypes one, and the first dtype that one of them meets decides them all, in
// both directions: for operands, and for results that are there already.
//
//   {w} * f16(x) + {b}      w and b are f16, for x is
//   ({w} * {v}) + f16(x)    so are w and v, by way of their product
//
// | what                                    | its dtype                       |
// |-----------------------------------------|---------------------------------|
// | says one: data, `{w:f16}`, `f16(x)`,    | that one; nothing changes it    |
// | `2:i64`, a block's scope with a dtype   |                                 |
// | a parameter, an array in the text, or   | open: a float                   |
// | `one_hot` that says none                |                                 |
// | a number, a static index, a size        | that of what it meets, integers |
// |                                         | among them; alone f32           |
// | an operation on operands of one dtype   | theirs, open or not; `bool` of  |
// |                                         | comparisons                     |
// | the condition of `select`, `Convert`,   | decide nothing of their operand |
// | `Bitcast` to another dtype              |                                 |
// | a number, an array in the text, a size, | has all its digits: f32 does    |
// | an index or a range that is converted   | not round it first              |
// | the first value of a parameter          | the parameter's: it is rounded  |
// | a gradient                              | that of its tensor              |
// | open, when shapes are inferred, or when | the default of the graph: f32,  |
// | something has to know it                | or Graph::set_default_dtype     |
// | two that are decided, in an operation   | an error, with where each is    |
// | that needs one                          | from                            |
#ifndef OCANNL_CORE_TENSOR_OPEN_DTYPE_H_
#define OCANNL_CORE_TENSOR_OPEN_DTYPE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// Makes the operands from number `first` on, of an operation at `where`, of one
// dtype as far as they are open; numbers among them become copies where they
// have another one already. Numbers alone are of dtype `otherwise`. One that
// its dtype does not hold becomes an error node.
void UniteDTypes(Graph& graph, size_t first, DType otherwise,
                 SourceLocation where, std::vector<TensorId>& ids);

// Decides what is open among `roots` and what they depend on: the default.
void DecideDTypes(Graph& graph, absl::Span<const TensorId> roots);

// Decides the dtype of the node if it is open and `dtype` a float.
void DecideDType(Graph& graph, TensorId id, DType dtype);

// Error: the dtype of a number, literal, formulas or static index, maybe that
// of `met`, does not hold it: an integer is another number, a float infinite,
// an f32 0.
absl::Status CheckHeld(const Graph& graph, TensorId id, TensorId met);

// The same of `value`, the greatest number of the node `id`, which shapes tell:
// a captured size, or the last of a range. `nodes` has those that use it.
absl::Status CheckHolds(const Graph& graph, TensorId id, double value,
                        absl::Span<const TensorId> nodes);

// The number of a NumberSource in `dtype`. A double skips integers beyond 2^53:
// those are read from the text of the node.
Constant ConstantOf(const TensorNode& node, DType dtype);

// What to convert to `dtype` in the place of the node, which is converted from
// all its digits: a number or a literal of another dtype, else of f32, whose
// dtype nobody chose, would first be rounded to that. It is another node only
// where f32 rounds: `f64(0.1)`, `i64(16777217)`, static indices, sizes and
// ranges that may be beyond 2^24. Error: an integer of a literal that a double
// may have rounded.
absl::StatusOr<TensorId> WithAllDigits(Graph& graph, TensorId id, DType dtype);

// The dtype of op(operands...), or of the operands without an operation;
// `wanted` is what a conversion says. Error: they are not of one dtype, with
// where each is from, or not what `op` takes.
absl::StatusOr<DType> InferDType(const Graph& graph, std::optional<Op> op,
                                 std::optional<DType> wanted,
                                 absl::Span<const TensorId> ids);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_OPEN_DTYPE_H_
