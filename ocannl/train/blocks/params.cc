// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/params.h"

#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ocannl::train {

ParamScope ParamScope::operator/(absl::string_view part) const {
  std::string longer =
      name.empty() ? std::string(part) : absl::StrCat(name, "_", part);
  return {
      .graph = graph, .name = std::move(longer), .dtype = dtype, .kept = kept};
}

Tensor MakeParam(const ParamScope& scope, absl::string_view part,
                 std::optional<Dims> outputs, std::optional<Dims> inputs,
                 const Initializer& init, SourceLocation where) {
  ShapeSpec spec;
  spec[RowKind::kBatch] = Dims{};
  spec[RowKind::kOutput] = std::move(outputs);
  spec[RowKind::kInput] = std::move(inputs);
  Graph& graph = *scope.graph;
  const Tensor param =
      Param(graph, (scope / part).name, std::move(spec),
            scope.kept ? scope.kept : scope.dtype, init, where);
  if (!scope.kept || scope.kept == scope.dtype) return param;
  const Tensor copy =
      Convert(Arg(param, where), scope.dtype.value_or(graph.default_dtype()));
  if (!scope.dtype) graph.Open(copy.id);
  return copy;
}

Tensor MakeState(const ParamScope& scope, absl::string_view part,
                 std::optional<Dims> outputs, const Initializer& init,
                 SourceLocation where) {
  return MakeParam({.graph = scope.graph,
                    .name = scope.name,
                    .dtype = scope.kept ? scope.kept : scope.dtype},
                   part, std::move(outputs), Dims{}, init, where);
}

std::function<Tensor(Tensor)> WithSharedParams(
    std::function<Tensor(Tensor)> net) {
  struct Made {
    const Graph* graph = nullptr;
    size_t begin = 0, end = 0;
  };
  return [net = std::move(net), made = std::make_shared<Made>()](Tensor input) {
    Graph& graph = *input.graph;
    if (graph.reuses_parameters()) return net(input);
    if (made->graph != &graph) {
      *made = {.graph = &graph, .begin = graph.parameters().size()};
      const Tensor result = net(input);
      made->end = graph.parameters().size();
      return result;
    }
    graph.ReuseParameters(made->begin, made->end);
    const absl::Cleanup end = [&] { graph.EndReuse(); };
    return net(input);
  };
}

Tensor OptionError(const ParamScope& scope, absl::string_view error,
                   SourceLocation where) {
  return ErrorTensor(*scope.graph, scope.name, error, where);
}

}  // namespace ocannl::train
