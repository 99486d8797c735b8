// SPDX-License-Identifier: Apache-2.0
//
// The code of a product of many arrays that is summed: pairwise contractions
// along a contraction path (contraction_order.h).
//
//   y =:+ a * b * c * d ~logic:"ij; jk; kl; l => i"
//     ->
//   y.product1 =:+ c * d;   y.product2 =:+ b * y.product1;
//   y =:+ a * y.product2
//
// What is between is rounded as the products are computed, to f32 if y is
// narrower.
#ifndef OCANNL_CORE_ASSIGN_CONTRACT_H_
#define OCANNL_CORE_ASSIGN_CONTRACT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/shape/project.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// Whether the code of `source` computes it so: the sum of a kMul of more than
// two operands.
bool IsContracted(const ComputeSource& source);

// The loops, arrays and indices of such a product, of arrays of one code.
struct Product {
  LoopExtents extents;
  ReadArray result;
  std::vector<ReadArray> factors;
  std::string suffix;  // of the names of what is between
};

// That of piece `number` of the code of the tensor `id`.
Product ProductOf(Assignments& code, const Graph& graph, const Shapes& shapes,
                  TensorId id, const ProjectedPiece& piece, size_t number);

// Appends `result =+ product`, or with `reset` =:+, in the steps of
// ContractionOrder.
void AssignContracted(Assignments& code, const Product& product, bool reset);

// Appends the contributions of `gradient`, of the dims of the result, to the
// gradients of the factors. It takes the same steps backwards. gradients[k] is
// the array of factor k's gradient, or null. Intermediate results are
// recomputed, not kept (rematerialization).
void PropagateContracted(Assignments& code, const Product& product,
                         int32_t gradient,
                         absl::Span<const std::optional<int32_t>> gradients);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_CONTRACT_H_
