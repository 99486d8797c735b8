// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/arrange.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/axis_spec.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/core/tensor/scalars.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

// `parts` of one dtype, where bools and numbers have that of the others: alone,
// each of them would have its own.
std::vector<Tensor> InOneDType(absl::Span<const Tensor> parts,
                               SourceLocation where) {
  Graph& graph = *parts[0].graph;
  std::vector<TensorId> ids;
  for (const Tensor& part : parts) {
    // The operation on them finds this error.
    if (part.graph != &graph) return {parts.begin(), parts.end()};
    ids.push_back(part.id);
  }
  CountBools(graph, std::nullopt, 0, where, ids);
  UniteDTypes(graph, 0, DType::kF32, where, ids);
  std::vector<Tensor> united;
  for (TensorId id : ids) {
    united.push_back({&graph, id});
    const auto* number = std::get_if<NumberSource>(&graph[id].source);
    if (number == nullptr) continue;
    const double value = number->value;
    Tensor& part = united.back();
    part =
        IsInteger(graph[id].dtype)
            ? Convert(Arg(part, where), graph[id].dtype)
            : Literal(graph, {}, {static_cast<float>(value)}, {value}, where);
  }
  return united;
}

// `parts`, each of which has the slot without the axis, one after the other.
Tensor StackAt(const AxisSpec& along, absl::Span<const Tensor> parts,
               SourceLocation where) {
  std::vector<Arg> args;
  std::vector<EinsumSlot> slots;
  EinsumAxis whole;
  for (const Tensor& part : parts) {
    std::string spec = SpecText({along.With({})}, along.With({FirstCell()}));
    const Tensor cell = Einsum1(spec, Arg(part, where));
    cell.graph->SetText(cell.id, part.node().text);  // as messages call it
    args.emplace_back(cell, where);
    whole.parts.push_back(absl::StrCat(along.name, "_", args.size()));
    slots.push_back(along.With({PlainAxis(whole.parts.back())}));
  }
  if (args.size() == 1) return std::get<Tensor>(args[0].value);
  return Concat(SpecText(slots, along.With({whole})), args);
}

}  // namespace

Tensor Stack(absl::string_view axis, absl::Span<const Tensor> parts,
             SourceLocation where) {
  CHECK(!parts.empty());
  std::vector<const TensorNode*> nodes;
  for (const Tensor& part : parts) nodes.push_back(&part.node());
  std::string text = CallText("stack", axis, nodes);
  // Not in Composed, which changes texts: those of numbers have all digits.
  const std::vector<Tensor> united = InOneDType(parts, where);
  return Composed(
      *parts[0].graph, text, where, [&]() -> absl::StatusOr<Tensor> {
        OCANNL_ASSIGN_OR_RETURN(AxisSpec along, ParseAxisSpec(axis));
        return StackAt(along, united, where);
      });
}

Tensor Interleave(absl::string_view axis, Tensor a, Tensor b,
                  SourceLocation where) {
  std::string text = CallText("interleave", axis, {&a.node(), &b.node()});
  const std::vector<Tensor> united = InOneDType({a, b}, where);
  return Composed(*a.graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    OCANNL_ASSIGN_OR_RETURN(AxisSpec along, ParseAxisSpec(axis));
    const EinsumAxis which = PlainAxis(absl::StrCat(along.name, "_which"));
    AxisSpec pairs = {.slot = along.With({PlainAxis(along.name), which}),
                      .name = which.name};
    EinsumAxis whole = PlainAxis(along.name);
    whole.stride = 2;
    whole.kernel = which.name;
    whole.fit = WindowFit::kExact;
    return Einsum1(SpecText({pairs.slot}, along.With({whole})),
                   Arg(StackAt(pairs, united, where), where));
  });
}

Tensor EveryNth(absl::string_view axis, Tensor a, int64_t step, int64_t first,
                SourceLocation where) {
  std::string text = CallText("every_nth", axis, {&a.node()},
                              absl::StrCat(", ", step, ", ", first));
  return Composed(*a.graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    OCANNL_ASSIGN_OR_RETURN(AxisSpec along, ParseAxisSpec(axis));
    if (step < 1 || step > 65536 || first < 0 || first >= step) {
      return absl::InvalidArgumentError(
          "the step is from 1 to 65536, and the first cell is from 0 and less "
          "than it");
    }
    EinsumAxis whole = PlainAxis(along.name);
    whole.stride = step;
    whole.offset = first;
    return Einsum1(SpecText({along.With({whole})}, along.slot), Arg(a, where));
  });
}

Tensor Part(absl::string_view axis, Tensor a, int64_t start, int64_t size,
            SourceLocation where) {
  std::string text = CallText("part", axis, {&a.node()},
                              absl::StrCat(", ", start, ", ", size));
  return Composed(*a.graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    OCANNL_ASSIGN_OR_RETURN(AxisSpec along, ParseAxisSpec(axis));
    if (start < 0 || size < 1) {
      return absl::InvalidArgumentError(
          "a part starts at a cell from 0 and has 1 or more");
    }
    const std::string before = absl::StrCat(along.name, "_before");
    EinsumAxis whole;
    if (start > 0) whole.parts.push_back(before);
    whole.parts.push_back(along.name);
    whole.parts.push_back(absl::StrCat(along.name, "_after"));
    Tensor part =
        Einsum1(SpecText({along.With({whole})}, along.slot), Arg(a, where));
    if (start > 0) OCANNL_RETURN_IF_ERROR(SetDim(part, before, start));
    OCANNL_RETURN_IF_ERROR(SetDim(part, along.name, size));
    return part;
  });
}

Tensor Stretch(Tensor a, SourceLocation where) {
  const TensorNode& node = a.node();
  if (std::holds_alternative<ErrorSource>(node.source)) return a;
  TensorNode stretched = {
      .source = ComputeSource{.logic = ComputeSource::Pointwise{true},
                              .operands = {a.id}},
      .name = "",
      .text = CallText("stretch", "", {&node}),
      .dtype = node.dtype,
      .has_gradient = node.has_gradient,
      .open = std::max(node.open, kDecided),
      .where = where};
  return {a.graph, a.graph->Add(std::move(stretched))};
}

}  // namespace ocannl
