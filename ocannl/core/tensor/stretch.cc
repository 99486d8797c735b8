// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/stretch.h"

#include <optional>

#include "ocannl/core/tensor/text.h"

namespace ocannl {

Tensor Stretch(Tensor a, SourceLocation where) {
  const TensorNode& node = a.node();
  if (std::holds_alternative<ErrorSource>(node.source)) return a;
  TensorNode stretched = {
      .source = ComputeSource{.op = std::nullopt,
                              .accum = std::nullopt,
                              .logic = ComputeSource::kPointwise,
                              .spec = std::nullopt,
                              .operands = {a.id},
                              .stretches = true},
      .name = "",
      .text = CallText("stretch", "", {&node}),
      .dtype = node.dtype,
      .spec = {},
      .has_gradient = node.has_gradient,
      .materialized = false,
      .where = where};
  return {a.graph, a.graph->Add(std::move(stretched))};
}

}  // namespace ocannl
