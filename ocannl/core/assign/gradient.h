// SPDX-License-Identifier: Apache-2.0
//
// Reverse-mode automatic differentiation by source transformation: what each
// tensor adds to its operands' gradients (adjoints), in reverse topological
// order, from the gradient column of ops.def.
//
//   t = a * b   ->   a.grad =+ t.grad * b;   b.grad =+ a * t.grad;
#ifndef OCANNL_CORE_ASSIGN_GRADIENT_H_
#define OCANNL_CORE_ASSIGN_GRADIENT_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// In the order in which it runs.
struct BackwardCode {
  Assignments zero_grads;  // of all tensors but the root
  Assignments seed;        // that of the root =: 1
  Assignments backprop;    // from the root to all others

  Assignments Whole() const;
};

// The code for `order`, tensors with a gradient, operands first; the last one
// is the root.
BackwardCode BackpropCode(const Graph& graph, const Shapes& shapes,
                          absl::Span<const TensorId> order);

// Appends the same to `code`, of the same graph, which holds each array once.
// `seed` appends what sets the gradient of the root.
void AppendBackprop(const Graph& graph, const Shapes& shapes,
                    absl::Span<const TensorId> order,
                    absl::FunctionRef<void(Assignments&)> seed,
                    Assignments& code);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_GRADIENT_H_
