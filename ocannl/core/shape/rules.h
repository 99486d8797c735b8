// SPDX-License-Identifier: Apache-2.0
//
// Rules: what each operation demands of the rows of its operands and result.
//
//   TensorNode -> Rules
//
//   w * x:   result output covers w output,   result input covers x input,
//            result batch covers both,        w input covers x output
//
// A row that covers another has the same axes, paired from the right, and may
// have more; an axis of size 1 that nobody gave is covered by any size.
#ifndef OCANNL_CORE_SHAPE_RULES_H_
#define OCANNL_CORE_SHAPE_RULES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ocannl/core/shape/size.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct RowRef {
  TensorId tensor;
  RowKind kind;

  friend bool operator==(RowRef, RowRef) = default;
};

struct CoverRule {
  TensorId node;
  RowRef covering, covered;
};

// The row has the axes of a spec; equal names of one node are one axis.
struct SlotRule {
  TensorId node;
  RowRef row;
  const EinsumRow* axes;
  int place;  // different for each slot rule of a node
};

struct Rules {
  std::vector<CoverRule> covers;
  std::vector<SlotRule> slots;
};

// Adds what `id` demands. A parameter demands its own rows of what initialises
// it. The rules hold pointers into `graph`.
void AddRules(const Graph& graph, TensorId id, Rules& rules);

// The spec that an einsum or a slice goes by, else null.
const EinsumSpec* SpecOf(const TensorSource& source);

// The axes of a row that has `rank` of them: those of a row variable, and
// placeholders, get names of their own.
std::vector<EinsumAxis> ExpandRow(const EinsumRow& row, int rank, int place);

// How the size of an axis that is not plain comes from those of its names:
// constant + the sum of factor * size(name). With a rounding, how the size of
// the first name comes from the others (SizeSystem::Relate).
struct SizeEquation {
  std::vector<std::pair<std::string, int64_t>> terms;
  int64_t constant = 0;
  Rounding rounding = Rounding::kNone;
  int64_t before = 0;
};
SizeEquation EquationOf(const EinsumAxis& axis);

// Whether the tensor is as large as its uses want.
bool Stretches(const TensorNode& node);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_RULES_H_
