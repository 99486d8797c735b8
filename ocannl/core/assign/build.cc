// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/build.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/contract.h"
#include "ocannl/core/assign/gather.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/assign/reach.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/shape/project.h"
#include "ocannl/core/tensor/open_dtype.h"

namespace ocannl {
namespace {

class ForwardBuilder {
 public:
  // `step`: that of SymbolSource::kStep, if any.
  ForwardBuilder(const Graph& graph, const Shapes& shapes,
                 std::optional<int32_t> step)
      : graph_(graph), shapes_(shapes), step_(step) {
    code_.statics = graph.statics();
  }

  // The code of one tensor from its operands.
  void Compute(TensorId id) {
    std::visit(
        Overload{
            [&](const NumberSource&) {
              Terminal(id,
                       FromConstant(code_.exprs,
                                    ConstantOf(graph_[id], graph_[id].dtype)),
                       {});
            },
            [&](const DataSource&) { Value(id); },
            [&](const ParamSource&) { Value(id); },
            [&](const OffsetsSource&) { Offsets(id); },
            [&](const SymbolSource& s) { Symbol(id, s); },
            [&](const DimSource& s) {
              const double size = static_cast<double>(Captured(s));
              Terminal(id, Literal(code_.exprs, graph_[id].dtype, size), {});
            },
            [&](const SliceSource& s) { Slice(id, s); },
            [&](const ReshapeSource& s) {
              AssignReshaped(code_, Value(id), std::nullopt, Value(s.of));
            },
            [&](const ScanSource& s) {
              AssignRunningSums(code_, Value(id), std::nullopt, Value(s.of),
                                AxisOf(shapes_, s), /*backwards=*/false);
            },
            [&](const ComputeSource& s) { FromOperands(id, s); },
            [&](const ErrorSource&) {
              CHECK(false) << "inference let it pass";
            },
        },
        graph_[id].source);
  }

  // value of `id` =: value of `from`, of the same shape, as its dtype.
  void Copy(TensorId id, TensorId from) {
    int32_t source = Value(from);
    const DType dtype = graph_[id].dtype;
    Expr value = MakeLeaf(code_.exprs, graph_[from].dtype, 0);
    if (graph_[from].dtype != dtype) {
      value = MakeLeaf(code_.exprs, ComputeDType(graph_[from].dtype), 0);
      // Rounded once: not to f32 before a narrow float.
      if (value.dtype() != ComputeDType(dtype)) value = Convert(value, dtype);
    }
    AssignPointwise(code_, Value(id), std::nullopt, value.id(), {source});
  }

  int32_t Value(TensorId id) {
    const auto [number, is_new] = numbers_.try_emplace(id);
    if (is_new) {
      number->second = code_.AddArray(ValueArray(graph_, shapes_, id));
    }
    return number->second;
  }

  Assignments& code() { return code_; }

 private:
  void Terminal(TensorId id, Expr rhs, std::vector<Source> sources) {
    AssignPointwise(code_, Value(id), std::nullopt, rhs.id(), {});
    std::get<Assign>(code_.list.back()).sources = std::move(sources);
  }

  int64_t Captured(const DimSource& source) const {
    if (!source.name.empty()) {
      return shapes_.names.at(source.of).at(source.name);
    }
    int64_t product = 1;
    for (RowKind row : source.rows) {
      product *= NumElements(shapes_.at(source.of)[row]);
    }
    return product;
  }

  void Symbol(TensorId id, const SymbolSource& source) {
    const std::optional<int32_t> index =
        source.static_index == kStep ? step_ : source.static_index;
    const bool is_high = source.part == SymbolSource::Part::kHigh;
    constexpr int64_t kHigh = int64_t{1} << 32;
    if (!index || (is_high && graph_.statics()[*index].range.value_or(
                                  kHigh + 1) <= kHigh)) {
      return Terminal(id, Literal(code_.exprs, graph_[id].dtype, 0), {});
    }
    Expr leaf = MakeLeaf(code_.exprs, DType::kI64, 0);
    if (is_high) leaf = Shr(leaf, LiteralLike(leaf, 32));
    Terminal(id, Convert(leaf, graph_[id].dtype), {ReadIndex{Static(*index)}});
  }

  void Offsets(TensorId id) {
    Dims dims = shapes_.at(id).dims();
    CellLoops loops(dims);
    Affine offset;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      offset = dims[axis] * offset + loops.indices[axis];
    }
    Expr leaf = MakeLeaf(code_.exprs, DType::kI64, 0);
    Terminal(id, Convert(leaf, graph_[id].dtype),
             {ReadIndex{std::move(offset)}});
  }

  void Slice(TensorId id, const SliceSource& source) {
    Projections p = Project(graph_, shapes_, id);
    Expr leaf = MakeLeaf(code_.exprs, graph_[id].dtype, 0);
    code_.list.push_back(
        Assign{.lhs = Value(id),
               .accum = std::nullopt,
               .reset = false,
               .lhs_indices = p.lhs,
               .rhs = leaf.id(),
               .sources = {ReadArray{Value(source.of), p.operands[0]}},
               .extents = p.extents});
  }

  void FromOperands(TensorId id, const ComputeSource& source) {
    std::vector<ProjectedPiece> pieces = ProjectPieces(graph_, shapes_, id);
    if (pieces.empty()) return FromNothing(id, source);
    const std::optional<GatherIndices> gather =
        FindGather(shapes_, id, source, pieces);
    if (gather) {
      return gather->scatters ? Scatter(id, source, *gather)
                              : Gather(id, source, *gather);
    }
    if (IsContracted(source)) {
      for (size_t i = 0; i < pieces.size(); ++i) {
        AssignContracted(code_,
                         ProductOf(code_, graph_, shapes_, id, pieces[i], i),
                         /*reset=*/i == 0);
      }
      return;
    }
    const bool accumulates =
        source.accum &&
        (RoundsTwice(id, source) || !IsPartitioned(id, source, pieces));
    for (size_t i = 0; i < pieces.size(); ++i) {
      FromPiece(id, source, std::move(pieces[i]), accumulates,
                accumulates && i == 0);
    }
  }

  // Whether setting rounds once what accumulating rounds twice (StoredAs). The
  // gradient of an extreme looks for the term as it was accumulated.
  bool RoundsTwice(TensorId id, const ComputeSource& source) const {
    return source.op == Op::kFma && IsNarrow(graph_[id].dtype);
  }

  // Whether no cell gets two terms, so that accumulating is setting. A sum or
  // an extreme of floats over an axis of one cell ends as over more, with +0.
  bool IsPartitioned(TensorId id, const ComputeSource& source,
                     absl::Span<const ProjectedPiece> pieces) const {
    const DType dtype = graph_[id].dtype;
    const bool ends_with_zero = EndsWithZero(*source.accum, dtype);
    std::vector<Projections> nests;
    for (const ProjectedPiece& piece : pieces) {
      if (ends_with_zero &&
          Reduces(piece.projections.extents, piece.projections.lhs)) {
        return false;
      }
      nests.push_back({piece.projections.extents, piece.projections.lhs, {}});
    }
    return IsPartition(nests, shapes_.at(id).dims());
  }

  // What is to be summed is gathered first: contiguous cells are summed fast.
  void Gather(TensorId id, const ComputeSource& source, GatherIndices gather) {
    const Projections all = {
        .extents = gather.extents, .lhs = gather.cells, .operands = {}};
    const bool sums = IsSum(all, shapes_.at(id).dims());
    Array array = ValueArray(graph_, shapes_, id);
    if (sums) {
      array = {.name = absl::StrCat(array.name, ".terms"),
               .dtype = graph_[source.operands[1]].dtype,
               .dims = {}};
      gather.cells.clear();
      for (IteratorId loop : gather.RowMajor()) {
        array.dims.push_back(gather.extents[loop]);
        gather.cells.push_back(Iterator(loop));
      }
    }
    const int32_t to = code_.AddArray(std::move(array));
    Assign assign = GatherCells(
        gather, to, Value(source.operands[1]), Value(gather.id_source),
        OperandLeaf(code_.exprs, graph_, source, 1, 0).id());
    code_.list.push_back(assign);
    if (!sums) return;
    assign.lhs = Value(id);
    assign.lhs_indices = all.lhs;
    assign.accum = source.accum;
    assign.reset = true;
    assign.sources = {ReadArray{to, gather.cells}};
    code_.list.push_back(std::move(assign));
  }

  void Scatter(TensorId id, const ComputeSource& source,
               const GatherIndices& gather) {
    const int32_t cells = Value(source.operands[1]);
    Assign assign =
        ScatterCells(gather, cells, Value(id), Value(gather.id_source),
                     OperandLeaf(code_.exprs, graph_, source, 1, 0).id());
    assign.reset = true;
    code_.list.push_back(std::move(assign));
  }

  // Every part of a concatenation that would be read is empty.
  void FromNothing(TensorId id, const ComputeSource& source) {
    const Expr start =
        Literal(code_.exprs, graph_[id].dtype, OutsideOf(source));
    Terminal(id, start, {});
  }

  void FromPiece(TensorId id, const ComputeSource& source, ProjectedPiece piece,
                 bool accumulates, bool reset) {
    std::vector<Source> sources;
    std::vector<Expr> args;
    sources.reserve(piece.operands.size());
    args.reserve(piece.operands.size());
    for (size_t k = 0; k < piece.operands.size(); ++k) {
      const int number = piece.operands[k];
      args.push_back(OperandLeaf(code_.exprs, graph_, source, number, k));
      sources.push_back(ReadArray{Value(source.operands[number]),
                                  std::move(piece.projections.operands[k]),
                                  OutsideOf(source)});
    }
    Expr term = Term(source, args, graph_[id].dtype);
    code_.list.push_back(
        Assign{.lhs = Value(id),
               .accum = accumulates ? source.accum : std::nullopt,
               .reset = reset,
               .lhs_indices = std::move(piece.projections.lhs),
               .rhs = term.id(),
               .sources = std::move(sources),
               .extents = std::move(piece.projections.extents)});
  }

  const Graph& graph_;
  const Shapes& shapes_;
  const std::optional<int32_t> step_;
  Assignments code_;
  absl::flat_hash_map<TensorId, int32_t> numbers_;  // of the values in code_
};

bool IsLeaf(const Graph& graph, TensorId id) {
  return std::holds_alternative<ParamSource>(graph[id].source) ||
         std::holds_alternative<DataSource>(graph[id].source);
}

// Whether the node is a parameter in another dtype, which every code makes
// anew: training changes the parameter.
bool IsCopy(const Graph& graph, TensorId id) {
  const auto* compute = std::get_if<ComputeSource>(&graph[id].source);
  return compute != nullptr && compute->op == Op::kConvert &&
         std::holds_alternative<ParamSource>(
             graph[compute->operands[0]].source);
}

bool IsParameter(const Graph& graph, TensorId id) {
  const auto* param = std::get_if<ParamSource>(&graph[id].source);
  return param != nullptr && !param->is_input;
}

absl::Status NotARoot(const Graph& graph, TensorId id, TensorId consumer,
                      absl::string_view code) {
  const std::string& name = graph[id].name;
  return absl::FailedPreconditionError(absl::StrCat(
      Describe(graph[id]), " is computed already, by the ", code, " code of `",
      graph[consumer].name, "`; ",
      id == consumer
          ? absl::StrCat("read its value: context.Read(\"", name, "\")")
          : absl::StrCat("to read its value there, call SetMemoryMode(", name,
                         ", MemoryMode::kOnDevice) before that code is made"),
      "; to compute it again, build its expression anew"));
}

}  // namespace

absl::StatusOr<Assignments> Forward(const Graph& graph, const Shapes& shapes,
                                    TensorId root, ComputedBy& computed_by) {
  ForwardBuilder builder(graph, shapes, graph.Step());
  // Not through what is computed already: the code of one operation after the
  // other takes time for its own.
  auto is_computed = [&](TensorId id) {
    return computed_by.forward.contains(id) && !IsCopy(graph, id);
  };
  const std::vector<TensorId> order =
      TopologicalOrder(graph, {root}, /*through_init=*/false, is_computed);
  for (size_t k = order.size(); k-- > 0;) {
    const TensorId id = order[k];
    if (!is_computed(id)) continue;
    if (id == root || !IsKept(graph[id].memory)) {
      return NotARoot(graph, id, computed_by.forward.at(id), "forward");
    }
  }
  for (TensorId id : order) {
    if (is_computed(id)) continue;
    builder.Compute(id);
    if (!IsLeaf(graph, id)) computed_by.forward.emplace(id, root);
  }
  RemoveUnitLoops(builder.code());
  return std::move(builder.code());
}

absl::StatusOr<BackwardCode> Backward(const Graph& graph, const Shapes& shapes,
                                      TensorId root, ComputedBy& computed_by) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<TensorId> order,
                          BackwardOrder(graph, root, computed_by));
  return BackpropCode(graph, shapes, order);
}

absl::StatusOr<std::vector<TensorId>> BackwardOrder(const Graph& graph,
                                                    TensorId root,
                                                    ComputedBy& computed_by) {
  if (!graph[root].has_gradient) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(graph[root]), " has no gradient: no parameter reaches it ",
        "through operations that have gradients; use one in it, such as {w}"));
  }
  const std::vector<TensorId> all = TopologicalOrder(graph, {root}, false);
  const absl::flat_hash_set<TensorId> reached = ReachedByGradient(graph, all);
  std::vector<TensorId> order;
  for (TensorId id : all) {
    // A parameter that the gradient does not reach has a gradient of 0.
    if (!graph[id].has_gradient) continue;
    if (!reached.contains(id) && !IsLeaf(graph, id)) continue;
    order.push_back(id);
    if (IsLeaf(graph, id)) continue;
    auto consumed = computed_by.backward.find(id);
    if (consumed == computed_by.backward.end()) continue;
    return NotARoot(graph, id, consumed->second, "backprop");
  }
  for (TensorId id : order) {
    if (!IsLeaf(graph, id)) computed_by.backward.emplace(id, root);
  }
  return order;
}

Assignments Initialize(const Graph& graph, const Shapes& shapes,
                       absl::Span<const TensorId> parameters) {
  ForwardBuilder builder(graph, shapes, /*step=*/std::nullopt);
  absl::flat_hash_set<TensorId> computed;
  for (TensorId parameter : parameters) {
    const auto& [init, is_input, later] =
        std::get<ParamSource>(graph[parameter].source);
    if (!init) {
      CHECK(!later) << "InferShapes makes the nodes of first values";
      continue;
    }
    for (TensorId id : TopologicalOrder(graph, {*init}, false)) {
      if (computed.insert(id).second) builder.Compute(id);
    }
    builder.Copy(parameter, *init);
  }
  RemoveUnitLoops(builder.code());
  return std::move(builder.code());
}

std::vector<TensorId> ParametersOf(const Graph& graph, TensorId root) {
  std::vector<TensorId> parameters;
  for (TensorId id : TopologicalOrder(graph, {root}, false)) {
    if (IsParameter(graph, id)) parameters.push_back(id);
  }
  absl::c_sort(parameters);
  return parameters;
}

std::vector<TensorId> TrainedParametersOf(const Graph& graph, TensorId root) {
  std::vector<TensorId> parameters = ParametersOf(graph, root);
  const absl::flat_hash_set<TensorId> reached =
      ReachedByGradient(graph, TopologicalOrder(graph, {root}, false));
  std::erase_if(parameters, [&](TensorId id) {
    return !graph[id].has_gradient || !reached.contains(id);
  });
  return parameters;
}

}  // namespace ocannl
