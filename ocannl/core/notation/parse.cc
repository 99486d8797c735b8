// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/parse.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/expression.h"
#include "ocannl/core/notation/scope.h"

namespace ocannl {

absl::StatusOr<ParsedTensor> ParseTensor(Graph& graph, absl::string_view text,
                                         const Names& names,
                                         SourceLocation where) {
  for (const auto& [name, tensor] : names.tensors) {
    if (tensor.graph == &graph) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the name `", name, "` stands for ", Describe(tensor.node()),
        ", a tensor of another graph; make that in the graph of the text"));
  }
  // Also names and random keys that a wrong text takes would be lost.
  const Graph::Mark before = graph.mark();
  OCANNL_ASSIGN_OR_RETURN(const std::string code, WithoutComments(text));
  absl::StatusOr<ParsedTensor> parsed =
      ExpressionParser(graph, code, names, where).Parse();
  if (!parsed.ok()) graph.RollBack(before);
  return parsed;
}

}  // namespace ocannl
