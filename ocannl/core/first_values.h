// SPDX-License-Identifier: Apache-2.0
//
// RunFirstValues: gives parameters their first values. Those that are computed
// alike but for key words of random numbers (initializer.h) are computed by
// one program, which is compiled once and has the words as static indices:
// 1,000 equal layers take the code of one. Large parameters have code of their
// own, with words that are constants. The values are those that the code of
// Initialize (build.h) gives.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       Context started,
//       RunFirstValues(graph, shapes, parameters, {}, context));
#ifndef OCANNL_CORE_FIRST_VALUES_H_
#define OCANNL_CORE_FIRST_VALUES_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// Runs the code of the first values of `parameters`, whose shapes are inferred,
// and then `also`, such as that of the states of an optimizer. Returns the
// context to link the next routine to. Errors: those of InferShapes, ToRoutine
// and Routine::Run; some parameters may have their values then.
absl::StatusOr<Context> RunFirstValues(Graph& graph, Shapes& shapes,
                                       absl::Span<const TensorId> parameters,
                                       Assignments also,
                                       const Context& context);

}  // namespace ocannl

#endif  // OCANNL_CORE_FIRST_VALUES_H_
