// SPDX-License-Identifier: Apache-2.0
//
// What an assignment's value computes, for the code of train/graph/code.h.
#ifndef OCANNL_TRAIN_GRAPH_VALUE_H_
#define OCANNL_TRAIN_GRAPH_VALUE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/notation/statements/statements.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// The shape of an array that is declared with the value of a tensor of `shape`.
// It is the same, or one output axis of one cell if the value has no axes and
// depends only on numbers.
Shape DeclaredShape(const Graph& graph, Shape shape, TensorId tensor);

// Adds the expression on the right-hand side of `statement` to the graph of
// `root`: the operation with the statement's logic, a copy of an operand, or a
// number. With a `target`, of the same graph, the node is for it, and a number
// takes its dtype. `numbers` are for specs. Errors: a logic that is none or not
// for this operation, another dtype than that of `target`, a number that this
// does not hold.
absl::StatusOr<TensorId> AddValue(const AssignStatement& statement, Tensor root,
                                  std::optional<TensorId> target,
                                  const EinsumNumbers& numbers);

// Makes those of `code` that write the array `name`, of the statement's value,
// accumulate as the statement does; the first one resets as that does. Error:
// the value accumulates otherwise.
absl::Status SetAccum(const AssignStatement& statement, absl::string_view name,
                      Assignments& code);

// Which cells of the array `name` its code writes.
enum class Reach : uint8_t {
  kAll,
  kOnce,  // some, each by one term, and none outside of the array
  kSome,
};
Reach ReachOf(const Assignments& code, absl::string_view name);

// Whether code that writes the array `name` reads cells of the array `target`
// other than the one it computes: in `target` itself it would read cells that
// it has overwritten.
bool ReadsOther(const Assignments& code, absl::string_view name,
                absl::string_view target);

// Makes the code set the cells of the array `name`, each of which it reaches
// once, and leave the others.
void SetOnce(absl::string_view name, Assignments& code);

// Appends code to `to` that makes `mask` 1 where `code` writes the array
// `name`, and less elsewhere.
void AppendMask(const Assignments& code, absl::string_view name,
                const Array& mask, Assignments& to);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_GRAPH_VALUE_H_
