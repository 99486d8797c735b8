// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/value.h"

#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/tensor/open_dtype.h"

namespace ocannl::train {
namespace {

// What accumulates the terms that `accum` takes away or divides by.
Op OfTerms(Op accum) {
  return accum == Op::kSub ? Op::kAdd : accum == Op::kDiv ? Op::kMul : accum;
}

absl::Status SetLogic(const AssignStatement& statement,
                      const EinsumNumbers& numbers, ComputeSource& source) {
  absl::string_view logic = *statement.logic;
  const size_t operands = source.operands.size();
  source.accum = OfTerms(statement.accum.value_or(Op::kAdd));
  if (logic == ".") {
    source.accum = std::nullopt;
    using Pointwise = ComputeSource::Pointwise;  // it may stretch
    if (!std::holds_alternative<Pointwise>(source.logic)) source.logic = {};
    return absl::OkStatus();
  }
  if (logic == "@") {
    source.logic = ComputeSource::Compose();
    const bool divides = source.op == Op::kDiv || source.op == Op::kPow;
    if (operands == 2 && !divides) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "~logic:\"@\" is for two operands and no `/` or `**.`; write \".\" or "
        "a spec");
  }
  if (logic == "T") logic = "..b..|..i..->..o.. => ..b..|..o..->..i..";
  absl::StatusOr<EinsumSpec> parsed =
      ParseEinsum(logic, static_cast<int>(operands), numbers);
  if (!parsed.ok()) return WrongSpec(logic, parsed.status());
  source.logic = *std::move(parsed);
  return absl::OkStatus();
}

}  // namespace

Shape DeclaredShape(const Graph& graph, Shape shape, TensorId tensor) {
  auto is_of_numbers = [&](TensorId id) {
    return IsNumberLike(graph[id].source) ||
           std::holds_alternative<ComputeSource>(graph[id].source) ||
           std::holds_alternative<ScanSource>(graph[id].source);
  };
  if (shape == Shape() &&
      absl::c_all_of(TopologicalOrder(graph, {tensor}, false), is_of_numbers)) {
    shape[RowKind::kOutput] = Dims{1};
  }
  return shape;
}

absl::StatusOr<TensorId> AddValue(const AssignStatement& statement, Tensor root,
                                  std::optional<TensorId> target,
                                  const EinsumNumbers& numbers) {
  Graph& graph = *root.graph;
  TensorNode node = root.node();
  node.name = "";
  if (target && std::holds_alternative<NumberSource>(node.source)) {
    node.dtype = graph[*target].dtype;
    const TensorId id = graph.Add(std::move(node));
    if (CheckHeld(graph, id, TensorId()).ok()) return id;
    return absl::InvalidArgumentError(absl::StrCat(
        "`", statement.target, "` is ", Name(graph[id].dtype),
        ", which does not hold ", graph[id].text, "; write another number"));
  }
  const auto* compute = std::get_if<ComputeSource>(&node.source);
  if (node.named || compute == nullptr) {
    node.named = false;
    node.source = ComputeSource{.operands = {root.id}};
  }
  if (statement.logic) {
    OCANNL_RETURN_IF_ERROR(
        SetLogic(statement, numbers, std::get<ComputeSource>(node.source)));
  }
  // A store may round: what a narrow float is computed as fits it.
  if (target && node.dtype != graph[*target].dtype &&
      node.dtype != ComputeDType(graph[*target].dtype)) {
    const absl::string_view wanted = Name(graph[*target].dtype);
    return absl::InvalidArgumentError(absl::StrCat(
        "the value is ", Name(node.dtype), " and `", statement.target, "` ",
        wanted, "; write ", wanted, "(...)"));
  }
  return graph.Add(std::move(node));
}

absl::Status SetAccum(const AssignStatement& statement, bool is_first,
                      assign_ir::Assign& store) {
  if (!statement.accum) return absl::OkStatus();
  if (store.accum && store.accum != OfTerms(*statement.accum)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the value accumulates by `", Info(*store.accum).text,
                     "` and the assignment by `", Info(*statement.accum).text,
                     "`; declare an array for the value"));
  }
  store.accum = statement.accum;
  store.reset = statement.reset && is_first;
  return absl::OkStatus();
}

}  // namespace ocannl::train
