// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/params.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ocannl::train {

ParamScope ParamScope::operator/(absl::string_view part) const {
  std::string longer =
      name.empty() ? std::string(part) : absl::StrCat(name, "_", part);
  return {.graph = graph, .name = std::move(longer), .dtype = dtype};
}

Tensor MakeParam(const ParamScope& scope, absl::string_view part,
                 std::optional<Dims> outputs, std::optional<Dims> inputs,
                 const Initializer& init, SourceLocation where) {
  ShapeSpec spec;
  spec[RowKind::kBatch] = Dims{};
  spec[RowKind::kOutput] = std::move(outputs);
  spec[RowKind::kInput] = std::move(inputs);
  return Param(*scope.graph, (scope / part).name, std::move(spec), scope.dtype,
               init, where);
}

Tensor As(DType dtype, Tensor tensor) {
  return tensor.node().dtype == dtype ? tensor : Convert(tensor, dtype);
}

Tensor OptionError(const ParamScope& scope, absl::string_view error,
                   SourceLocation where) {
  return IllegalTensor(*scope.graph, scope.name, error, where);
}

}  // namespace ocannl::train
