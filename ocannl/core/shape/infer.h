// SPDX-License-Identifier: Apache-2.0
//
// Shapes: infers the shape of every tensor from its uses. This is type
// inference by constraint solving: first the ranks of rows (rank.h), then the
// sizes of axes (size.h), then their bases (bases.h).
//
//   Graph -> Shapes
//
// w2 * relu({b1; o=[16]} + w1 * x) with x : 10|2 gives w1 : 2->16.
#ifndef OCANNL_CORE_SHAPE_INFER_H_
#define OCANNL_CORE_SHAPE_INFER_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/base/containers/id.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct Shapes : IdMap<TensorId, Shape> {
  // For each operation, the sizes of the names in the axes that its spec
  // computes: in "2*o+k => o" the sizes of o and k. A part without cells has 0.
  // Also the sizes of names and row variables that an EmbedDim asks for.
  absl::flat_hash_map<TensorId, absl::flat_hash_map<std::string, int64_t>>
      names;
  // What axes measure, of tensors with axes of other bases than the default.
  absl::flat_hash_map<TensorId, Bases> bases;
};

// "2|3->4", with bases.
std::string ToString(const Shapes& shapes, TensorId tensor);

// Infers the shape of every tensor that `roots` depend on, initialisers of
// parameters included, and adds them to `shapes`. Shapes that are there already
// do not change and count as given. On an error `shapes` is unchanged. Errors:
// sizes that do not fit, a parameter whose sizes nothing determines, axes of
// different bases, an error node. The message names the operation, both shapes,
// the row and the place where the tensor was made.
//
// What is open of their dtypes is decided, even so (open_dtype.h).
//
// Adds to `steps`, if given, how many rows, axes and rules were looked at: the
// cost, which grows like the number of tensors.
absl::Status InferShapes(Graph& graph, absl::Span<const TensorId> roots,
                         Shapes& shapes, int64_t* steps = nullptr);

// The same but for plain first values of parameters (initializer.h), which tell
// nothing of a shape and are most of the nodes of many graphs: InferShapes of
// the parameters adds them, and finds what is wrong with them, where they are
// computed.
absl::Status InferUses(Graph& graph, absl::Span<const TensorId> roots,
                       Shapes& shapes);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_INFER_H_
