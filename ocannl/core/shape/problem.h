// SPDX-License-Identifier: Apache-2.0
//
// Problem: the constraint satisfaction problem of one inference: its variables
// (the rows of tensors), its constraints (rules), and given sizes.
//
//   Graph, roots -> Problem
#ifndef OCANNL_CORE_SHAPE_PROBLEM_H_
#define OCANNL_CORE_SHAPE_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/containers/id.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/shape/rank.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct ProblemRow {
  RowRole rank_role;          // of the row
  RowRole size_role;          // of its axes
  std::optional<Dims> sizes;  // where given
  // Given sizes of 1 are broadcastable; where none are given, all are such 1s.
  bool broadcastable;
};

struct Problem {
  std::vector<TensorId> nodes;   // ascending
  std::vector<ProblemRow> rows;  // of each node, in the order of RowKind
  Rules rules;                   // ascending by node
  absl::flat_hash_map<TensorId, int> index;  // of a tensor in `nodes`

  int RowIndex(RowRef row) const {
    return 3 * index.at(row.tensor) + static_cast<int>(row.kind);
  }
  ProblemRow& operator[](RowRef row) { return rows[RowIndex(row)]; }
};

// Shapes of earlier inferences.
using GivenShapes = IdMap<TensorId, Shape>;

// Which initialisers of parameters count.
enum class FirstValues : uint8_t {
  kAll,
  kTelling,  // not plain ones (initializer.h), which tell nothing of a shape
};

// Everything that `roots` need, initialisers included, but nothing that only
// tensors of a given shape need. Errors: an error node; an array that its
// static index does not divide.
absl::StatusOr<Problem> MakeProblem(Graph& graph,
                                    absl::Span<const TensorId> roots,
                                    const GivenShapes& given,
                                    FirstValues first_values);

// Error: a tensor with more than kMaxAxes axes, by name. Before `ranks` are
// solved, those count that are known.
absl::Status CheckAxes(const Graph& graph, const Problem& problem,
                       const RankSystem& ranks);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_PROBLEM_H_
