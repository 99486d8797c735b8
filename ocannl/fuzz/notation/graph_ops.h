// SPDX-License-Identifier: Apache-2.0
//
// The operations and indexing functions of the notation, each as what makes a
// new value of those of a random graph.
#ifndef OCANNL_FUZZ_NOTATION_GRAPH_OPS_H_
#define OCANNL_FUZZ_NOTATION_GRAPH_OPS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/fuzz/notation/graph_state.h"

namespace ocannl::fuzz {

struct GraphOp {
  absl::string_view name;
  GraphFocus focus;
  // None: it does not fit the values that were picked.
  std::optional<GraphValue> (*make)(GraphState& state);
  // Among those of its focus: the layouts of arrays depend on some most.
  int weight = 1;
};

absl::Span<const GraphOp> ArrangingOps();  // graph_arrange.cc
absl::Span<const GraphOp> ComputingOps();  // graph_compute.cc

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_GRAPH_OPS_H_
