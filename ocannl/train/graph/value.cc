// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/graph/value.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/pad.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/injective.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/tensor/open_dtype.h"

namespace ocannl::train {
namespace {

// What accumulates the terms that `accum` takes away or divides by.
Op OfTerms(Op accum) {
  return accum == Op::kSub ? Op::kAdd : accum == Op::kDiv ? Op::kMul : accum;
}

// Those that write the array `name`.
template <class Code>
auto StoresOf(Code& code, absl::string_view name) {
  std::vector<decltype(std::get_if<Assign>(&code.list[0]))> stores;
  for (auto& each : code.list) {
    auto* assign = std::get_if<Assign>(&each);
    if (assign != nullptr && code.arrays[assign->lhs].name == name) {
      stores.push_back(assign);
    }
  }
  return stores;
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
        "~logic:\"@\" is for two operands and no `/` or `**.`, and for fma; "
        "write \".\" or a spec");
  }
  if (logic == "T") logic = "..b..|..i..->..o.. => ..b..|..o..->..i..";
  OCANNL_ASSIGN_OR_RETURN(
      source.logic, ParseEinsum(logic, static_cast<int>(operands), numbers));
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
  const bool is_fma = !node.named && compute != nullptr &&
                      compute->op == Op::kFma && statement.logic == "@";
  if (is_fma) {
    // The product is summed, and the third operand added once.
    const auto operand = [&](int k) {
      return Tensor{&graph, compute->operands[k]};
    };
    const Tensor sum = Compose(operand(0), operand(1)) + operand(2);
    AssignStatement added = statement;
    added.logic = std::nullopt;
    return AddValue(added, sum, target, numbers);
  }
  if (node.named || compute == nullptr) {
    node.named = false;
    node.source = ComputeSource{.operands = {root.id}};
    node.spec = {};  // a logic may give it another shape
  }
  if (statement.logic) {
    OCANNL_RETURN_IF_ERROR(
        SetLogic(statement, numbers, std::get<ComputeSource>(node.source)));
  }
  // A bool counts as 0 or 1, as what it is stored or accumulated in.
  const bool counts = statement.accum && statement.accum != Op::kAnd &&
                      statement.accum != Op::kOr;
  if (node.dtype == DType::kBool) {
    const DType wanted = target   ? graph[*target].dtype
                         : counts ? DType::kF32
                                  : DType::kBool;
    node.dtype = statement.dtype.value_or(wanted);
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

absl::Status SetAccum(const AssignStatement& statement, absl::string_view name,
                      Assignments& code) {
  if (!statement.accum) return absl::OkStatus();
  bool is_first = true;
  for (Assign* store : StoresOf(code, name)) {
    if (store->accum && store->accum != OfTerms(*statement.accum)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the value accumulates by `", Info(*store->accum).text,
                       "` and the assignment by `", Info(*statement.accum).text,
                       "`; declare an array for the value"));
    }
    store->accum = statement.accum;
    store->reset = statement.reset && std::exchange(is_first, false);
  }
  return absl::OkStatus();
}

Reach ReachOf(const Assignments& code, absl::string_view name) {
  std::vector<Projections> pieces;
  bool is_inside = true;
  for (const Assign* store : StoresOf(code, name)) {
    const Dims& dims = code.arrays[store->lhs].dims;
    if (!store->reset && !store->accum) return Reach::kAll;
    if (IsSurjective(store->extents, store->lhs_indices, dims)) {
      return Reach::kAll;
    }
    is_inside = is_inside &&
                !LeavesArray(code, *store, {store->lhs, store->lhs_indices});
    pieces.push_back(
        {.extents = store->extents, .lhs = store->lhs_indices, .operands = {}});
  }
  return is_inside && IsInjective(pieces) ? Reach::kOnce : Reach::kSome;
}

bool ReadsOther(const Assignments& code, absl::string_view name,
                absl::string_view target) {
  bool reads = false;
  for (const Assign* store : StoresOf(code, name)) {
    for (const Source& source : store->sources) {
      WalkArrays(source, [&](const ReadArray& read) {
        reads |= code.arrays[read.array].name == target &&
                 read.indices != store->lhs_indices;
      });
    }
  }
  return reads;
}

void SetOnce(absl::string_view name, Assignments& code) {
  for (Assign* store : StoresOf(code, name)) {
    store->accum = std::nullopt;
    store->reset = false;
  }
}

void AppendMask(const Assignments& code, absl::string_view name,
                const Array& mask, Assignments& to) {
  const int32_t lhs = to.AddArray(mask);
  const ExprId one = Literal(to.exprs, ComputeDType(mask.dtype), 1).id();
  bool is_first = true;
  for (const Assign* store : StoresOf(code, name)) {
    to.list.push_back(Assign{.lhs = lhs,
                             .accum = Op::kMax,
                             .reset = std::exchange(is_first, false),
                             .lhs_indices = store->lhs_indices,
                             .rhs = one,
                             .sources = {},
                             .extents = store->extents});
  }
}

}  // namespace ocannl::train
