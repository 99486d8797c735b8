// SPDX-License-Identifier: Apache-2.0
//
// What an assignment's value computes, for the code of train/code.h.
#ifndef OCANNL_TRAIN_VALUE_H_
#define OCANNL_TRAIN_VALUE_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/notation/statements.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// The shape of an array that is declared with the value of a tensor of `shape`:
// the same, but one output axis of one cell where it has no axes and depends on
// nothing but numbers.
Shape DeclaredShape(const Graph& graph, Shape shape, TensorId tensor);

// Adds a node to the graph of `root`, the expression on the right-hand side of
// `statement`: the same operation as the statement's logic has it, a copy of
// what is no operation, or a number. With a `target`, of the same graph, the
// node is for it, and a number takes its dtype. `numbers` are for specs.
// Errors: a logic that is none or not for this operation, another dtype than
// that of `target`, a number that this does not hold.
absl::StatusOr<TensorId> AddValue(const AssignStatement& statement, Tensor root,
                                  std::optional<TensorId> target,
                                  const EinsumNumbers& numbers);

// Makes `store`, of the statement's value, accumulate as the statement does; it
// resets as that does if it `is_first`. Error: the value accumulates otherwise.
absl::Status SetAccum(const AssignStatement& statement, bool is_first,
                      assign_ir::Assign& store);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_VALUE_H_
