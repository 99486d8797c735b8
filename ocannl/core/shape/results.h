// SPDX-License-Identifier: Apache-2.0
//
// What of a result does not come from its operands: how its uses want it, and
// names that only its result has. Also checks of numbers that shapes determine.
#ifndef OCANNL_CORE_SHAPE_RESULTS_H_
#define OCANNL_CORE_SHAPE_RESULTS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/shape/problem.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

using RowSizes = absl::FunctionRef<Dims(RowRef)>;

struct EnlargedRow {
  RowRef row;
  Dims made;  // by the operands
};

// Those of `problem`, whose rows have the sizes `sizes`. A first value fills
// its parameter, and what stretches is as large as its uses want: neither is
// among them.
std::vector<EnlargedRow> EnlargedRows(const Graph& graph,
                                      const Problem& problem, RowSizes sizes);

// The names of the results of specs that no operand of theirs has; but parts of
// concatenations, which may be empty, and what has its sizes already.
std::vector<SpecName> OwnNames(const Graph& graph, const Problem& problem);

// Errors: the dtype of a captured size or of a range does not hold its greatest
// number (CheckHolds); offsets of u32 repeat, which makes random numbers
// repeat.
absl::Status CheckNumbers(const Graph& graph, const Problem& problem,
                          RowSizes sizes,
                          absl::FunctionRef<Dims(const SpecName&)> name_sizes);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_RESULTS_H_
