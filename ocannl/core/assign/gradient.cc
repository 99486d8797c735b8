// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/gradient.h"

#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/contract.h"
#include "ocannl/core/assign/gather.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/assign/zeros.h"
#include "ocannl/core/index/polyphase.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/shape/project.h"
#include "ocannl/core/tensor/defined_op.h"

namespace ocannl {
namespace {

// The same loops with those of `lhs` first, in its order, so that reductions
// are innermost.
Projections LhsFirst(Projections p) {
  if (p.extents.empty()) return p;
  std::vector<IteratorId> order;
  AddLoops(p.lhs, order);
  for (IteratorId loop : p.extents.ids()) {
    if (!absl::c_linear_search(order, loop)) order.push_back(loop);
  }
  return Reordered(std::move(p), order);
}

// Leaves of a gradient's expression before they are numbered: what reaches the
// result, the result, and operand k; behind these, intermediates.
enum GradientLeaf : int {
  kGradient,
  kResult,
  kFirst,   // the number of the term that gets it
  kNumber,  // of this term
  kOperand,
};

// Numbers the terms of each cell of a result in the order of the loops: one
// number for each value of the loops that the cell does not tell.
struct TermNumbers {
  explicit TermNumbers(const Projections& p) {
    IdVector<IteratorId, bool> told(p.extents.size(), false);
    for (const Affine& index : p.lhs) {
      const auto& terms = index.terms();
      if (terms.size() == 1 && terms[0].symbol.kind == Symbol::kIterator) {
        told[terms[0].symbol.iterator()] = true;
      }
    }
    for (IteratorId k : p.extents.ids()) {
      // No program runs so long.
      if (told[k] || p.extents[k] == 1 || count > kMost / p.extents[k])
        continue;
      number = p.extents[k] * number + Iterator(k);
      count *= p.extents[k];
    }
  }

  static constexpr int64_t kMost = int64_t{1} << 56;
  Affine number;
  int64_t count = 1;
};

// As it is rounded when it is stored.
Expr AsStored(Expr term, DType stored) {
  return Convert(Convert(term, stored), ComputeDType(stored));
}

// For each cell of a minimum or maximum, the number of the first term that is
// equal to it.
Array FirstArray(const Graph& graph, const Shapes& shapes, TensorId id,
                 DType dtype) {
  return {.name = absl::StrCat(graph[id].name, ".first"),
          .dtype = dtype,
          .dims = shapes.at(id).dims()};
}

struct First {
  Array array;
  std::vector<Affine> numbers;  // of a term in the loops of each piece
};

// nullopt: every term gets the gradient of its cell.
std::optional<First> FindFirst(const Graph& graph, const Shapes& shapes,
                               TensorId id, const ComputeSource& source,
                               absl::Span<const ProjectedPiece> pieces) {
  const bool is_extreme = source.accum == Op::kMax || source.accum == Op::kMin;
  if (!is_extreme || (source.defined && source.defined->routes_gradient)) {
    return std::nullopt;
  }
  std::vector<Projections> nests;
  std::vector<Affine> numbers;
  int64_t count = 0;
  for (const ProjectedPiece& piece : pieces) {
    nests.push_back(piece.projections);
    const TermNumbers terms(piece.projections);
    numbers.push_back(terms.number + count);
    count += terms.count;
  }
  // Of several operands, one may have a cell where another has none.
  if (!source.has_op() && IsPartition(nests, shapes.at(id).dims())) {
    return std::nullopt;
  }
  const bool is_long = count >= std::numeric_limits<int32_t>::max();
  return First{
      FirstArray(graph, shapes, id, is_long ? DType::kI64 : DType::kI32),
      std::move(numbers)};
}

class Backprop {
 public:
  // Appends to `code`.
  Backprop(const Graph& graph, const Shapes& shapes, Assignments& code)
      : graph_(graph), shapes_(shapes), code_(code) {
    code_.statics = graph.statics();
  }

  // gradient of each of `ids` =: value
  void FillAll(absl::Span<const TensorId> ids, double value) {
    for (TensorId id : ids) {
      Expr literal = Literal(code_.exprs, graph_[id].dtype, value);
      AssignPointwise(code_, Gradient(id), std::nullopt, literal.id(), {});
    }
  }

  // From the last of `order` to the first.
  void PropagateAll(absl::Span<const TensorId> order) {
    const size_t begin = code_.list.size();
    for (size_t k = order.size(); k-- > 0;) Propagate(order[k]);
    RemoveUnitLoops(code_, begin);
  }

 private:
  void Propagate(TensorId id) {
    const TensorSource& source = graph_[id].source;
    const auto* compute = std::get_if<ComputeSource>(&source);
    if (compute != nullptr) {
      std::vector<ProjectedPiece> pieces = ProjectPieces(graph_, shapes_, id);
      const std::optional<GatherIndices> gather =
          FindGather(shapes_, id, *compute, pieces);
      if (gather) return PropagateGather(id, *compute, *gather);
      const std::optional<First> first =
          FindFirst(graph_, shapes_, id, *compute, pieces);
      for (size_t k = 0; first && k < pieces.size(); ++k) {
        AssignFirst(id, *compute, pieces[k], *first, k);
      }
      for (size_t k = 0; k < pieces.size(); ++k) {
        if (IsContracted(*compute)) {
          PropagateProduct(id, *compute, pieces[k], k);
        } else {
          PropagatePiece(id, *compute, std::move(pieces[k]), first, k);
        }
      }
    } else if (const auto* scan = std::get_if<ScanSource>(&source)) {
      AssignRunningSums(code_, Gradient(scan->of), Op::kAdd, Gradient(id),
                        AxisOf(shapes_, *scan), /*backwards=*/true);
    } else if (const auto* slice = std::get_if<SliceSource>(&source)) {
      Expr g = MakeLeaf(code_.exprs, ComputeDType(graph_[id].dtype), kGradient);
      Accumulate(id, {slice->of}, Project(graph_, shapes_, id), 0, g, 0,
                 /*is_zero_preserving=*/false);
    } else if (const auto* reshape = std::get_if<ReshapeSource>(&source)) {
      AssignReshaped(code_, Gradient(reshape->of), Op::kAdd, Gradient(id));
    }
  }

  int32_t Gradient(TensorId id) {
    const auto [number, is_new] = gradients_.try_emplace(id);
    if (is_new) {
      number->second = code_.AddArray(GradientArray(graph_, shapes_, id));
    }
    return number->second;
  }

  int32_t Value(TensorId id) {
    const auto [number, is_new] = values_.try_emplace(id);
    if (is_new) {
      number->second = code_.AddArray(ValueArray(graph_, shapes_, id));
    }
    return number->second;
  }

  // The gradient of a gather scatters, and the other way round.
  void PropagateGather(TensorId id, const ComputeSource& source,
                       const GatherIndices& gather) {
    const TensorId operand = source.operands[1];
    if (!graph_[operand].has_gradient) return;
    const int32_t to = Gradient(operand);
    const int32_t from = Gradient(id);
    const int32_t ids = Value(gather.id_source);
    const ExprId leaf =
        MakeLeaf(code_.exprs, ComputeDType(graph_[id].dtype), 0).id();
    Assign assign = gather.scatters ? GatherCells(gather, to, from, ids, leaf)
                                    : ScatterCells(gather, from, to, ids, leaf);
    assign.accum = Op::kAdd;
    code_.list.push_back(std::move(assign));
  }

  void PropagateProduct(TensorId id, const ComputeSource& source,
                        const ProjectedPiece& piece, size_t number) {
    std::vector<std::optional<int32_t>> gradients;
    for (int k : piece.operands) {
      const TensorId operand = source.operands[k];
      gradients.push_back(graph_[operand].has_gradient
                              ? std::optional(Gradient(operand))
                              : std::nullopt);
    }
    PropagateContracted(code_,
                        ProductOf(code_, graph_, shapes_, id, piece, number),
                        Gradient(id), gradients);
  }

  // first =@- select(result == term, number, ...), and where the term is NaN,
  // as then the result is. What is outside of the operands is no term: it
  // equals nothing in the one place, and is no NaN in the other.
  void AssignFirst(TensorId id, const ComputeSource& source,
                   const ProjectedPiece& piece, const First& first, size_t k) {
    const DType stored = graph_[id].dtype;
    std::vector<Source> sources = {ReadArray{Value(id), piece.projections.lhs},
                                   ReadIndex{first.numbers[k]}};
    auto term = [&](double outside) {
      std::vector<Expr> args;
      for (size_t arg = 0; arg < piece.operands.size(); ++arg) {
        const int number = piece.operands[arg];
        args.push_back(OperandLeaf(code_.exprs, graph_, source, number,
                                   static_cast<int>(sources.size())));
        sources.push_back(ReadArray{Value(source.operands[number]),
                                    piece.projections.operands[arg], outside});
      }
      return AsStored(Term(source, args, stored), stored);
    };
    const Expr result = MakeLeaf(code_.exprs, ComputeDType(stored), 0);
    const Expr number =
        Convert(MakeLeaf(code_.exprs, DType::kI64, 1), first.array.dtype);
    const Expr equal = term(std::numeric_limits<double>::quiet_NaN());
    const Expr other = term(OutsideOf(source));
    const Expr rhs = Select(Equal(result, equal) | NotEqual(other, other),
                            number, NeutralElement(Op::kMin));
    code_.list.push_back(Assign{.lhs = code_.AddArray(first.array),
                                .accum = Op::kMin,
                                .reset = k == 0,
                                .lhs_indices = piece.projections.lhs,
                                .rhs = rhs.id(),
                                .sources = std::move(sources),
                                .extents = piece.projections.extents});
  }

  void PropagatePiece(TensorId id, const ComputeSource& source,
                      ProjectedPiece piece, const std::optional<First>& first,
                      size_t nth) {
    ExprPool& pool = code_.exprs;
    const DType stored = graph_[id].dtype;
    const DType dtype = ComputeDType(stored);
    std::vector<TensorId> operands;
    std::vector<Expr> args;
    for (int number : piece.operands) {
      const int leaf = kOperand + static_cast<int>(args.size());
      operands.push_back(source.operands[number]);
      args.push_back(OperandLeaf(pool, graph_, source, number, leaf));
    }
    Expr g = MakeLeaf(pool, dtype, kGradient);
    Expr result = MakeLeaf(pool, dtype, kResult);
    Expr term = result;
    if (source.accum) term = AsStored(Term(source, args, stored), stored);
    Projections& p = piece.projections;
    if (first) {
      const Expr taken = MakeLeaf(pool, first->array.dtype, kFirst);
      const Expr term_number = MakeLeaf(pool, DType::kI64, kNumber);
      g = Select(Equal(taken, Convert(term_number, taken.dtype())), g, 0);
      p.operands.push_back({first->numbers[nth]});
    }
    std::vector<std::optional<Expr>> gradients = {g};
    if (source.op) gradients = Gradients(*source.op, args, term, g);
    if (source.defined != nullptr) {
      const OpDefinition& op = *source.defined;
      for (const auto& each : op.intermediates) {
        args.push_back(MakeLeaf(pool, DTypeOf(op, each, dtype),
                                kOperand + static_cast<int>(args.size())));
      }
      if (op.routes_gradient) term = result;
      AssignIntermediates(id, operands, p, args, term, g, nth == 0);
      gradients = GradientsOf(op, args, term, g);
    }
    for (size_t k = 0; k < gradients.size(); ++k) {
      if (!gradients[k] || !graph_[operands[k]].has_gradient) continue;
      const bool is_zero_preserving =
          PreservesZeros(source, pool, gradients[k]->id(), kGradient, kOperand);
      Accumulate(id, operands, k + 1 < gradients.size() ? p : std::move(p), k,
                 *gradients[k], OutsideOf(source), is_zero_preserving);
    }
  }

  // The array of intermediate `number` of the defined operation of `id`, at the
  // terms of `p`, of which the last operand is the result.
  ReadArray IntermediateAt(TensorId id, const std::vector<TensorId>& operands,
                           const Projections& p, size_t number) {
    const OpDefinition& op =
        *std::get<ComputeSource>(graph_[id].source).defined;
    const auto& [name, slot, accum, leaf, value] = op.intermediates[number];
    const DType dtype = DTypeOf(op, op.intermediates[number], graph_[id].dtype);
    const TensorId like = slot == 0 ? id : operands[slot - 1];
    const int32_t array =
        code_.AddArray({.name = absl::StrCat(graph_[id].name, ".", name),
                        .dtype = dtype,
                        .dims = shapes_.at(like).dims()});
    return {array, slot == 0 ? p.operands.back() : p.operands[slot - 1],
            NeutralElement(accum)};
  }

  // Accumulates the intermediates of the defined operation of `id`; resets them
  // before, if this `is_first`.
  void AssignIntermediates(TensorId id, const std::vector<TensorId>& operands,
                           Projections p, absl::Span<const Expr> args, Expr y,
                           Expr g, bool is_first) {
    const OpDefinition& op =
        *std::get<ComputeSource>(graph_[id].source).defined;
    const std::vector<Expr> values = IntermediatesOf(op, args, y, g);
    p.operands.push_back(p.lhs);
    for (size_t k = 0; k < values.size(); ++k) {
      p.lhs = IntermediateAt(id, operands, p, k).indices;
      AssignTo(id, operands, LhsFirst(p),
               OutsideOf(std::get<ComputeSource>(graph_[id].source)),
               {.lhs = IntermediateAt(id, operands, p, k).array,
                .accum = op.intermediates[k].accum,
                .reset = is_first,
                .lhs_indices = {},
                .rhs = values[k].id(),
                .sources = {},
                .extents = {}});
    }
  }

  // gradient of operands[k] =+ rhs, where the operands are `outside` where they
  // have no cells; behind their projections there may be the number of the
  // term. If the rhs preserves zeros of the gradient of `id`, sums into windows
  // are decomposed by phase (polyphase.h).
  void Accumulate(TensorId id, const std::vector<TensorId>& operands,
                  Projections p, size_t k, Expr rhs, double outside,
                  bool is_zero_preserving) {
    std::swap(p.lhs, p.operands[k]);
    p.operands.push_back(p.operands[k]);  // the result's, after the swap
    p.operands[k] = p.lhs;
    std::vector<Projections> parts;
    if (is_zero_preserving && !p.extents.empty()) {
      parts = DecomposePhases(p, p.operands.size() - 1,
                              shapes_.at(operands[k]).dims(),
                              shapes_.at(id).dims());
    } else {
      parts.push_back(std::move(p));
    }
    for (Projections& part : parts) {
      AssignTo(id, operands, LhsFirst(std::move(part)), outside,
               {.lhs = Gradient(operands[k]),
                .accum = Op::kAdd,
                .reset = false,
                .lhs_indices = {},
                .rhs = rhs.id(),
                .sources = {},
                .extents = {}});
    }
  }

  // What a leaf of the gradient's expression reads.
  Source SourceOf(TensorId id, const std::vector<TensorId>& operands,
                  const Projections& p, const Leaf& leaf, double outside) {
    const Indices& result = p.operands.back();
    switch (leaf.id) {
      case kGradient:
        return ReadArray{Gradient(id), result};
      case kResult:
        return ReadArray{Value(id), result};
      case kFirst:
        return ReadArray{
            code_.AddArray(FirstArray(graph_, shapes_, id, leaf.dtype)),
            result};
      case kNumber:
        return ReadIndex{p.operands[operands.size()][0]};
      default:
        break;
    }
    const size_t at = leaf.id - kOperand;
    if (at >= operands.size()) {
      return IntermediateAt(id, operands, p, at - operands.size());
    }
    return ReadArray{Value(operands[at]), p.operands[at], outside};
  }

  // Appends `assign`, in the loops of `p` and to its lhs; the leaves of its
  // value are those of a gradient.
  void AssignTo(TensorId id, const std::vector<TensorId>& operands,
                Projections p, double outside, Assign assign) {
    std::vector<int> numbers(kOperand + operands.size(), -1);
    assign.rhs = Rewrite(code_.exprs, assign.rhs, [&](ExprId node) {
      const Leaf* leaf = std::get_if<Leaf>(&code_.exprs[node]);
      if (leaf == nullptr) return node;
      const auto at = static_cast<size_t>(leaf->id);
      if (at >= numbers.size()) numbers.resize(at + 1, -1);  // intermediates
      if (numbers[at] < 0) {
        numbers[at] = static_cast<int>(assign.sources.size());
        assign.sources.push_back(SourceOf(id, operands, p, *leaf, outside));
      }
      return MakeLeaf(code_.exprs, leaf->dtype, numbers[at]).id();
    });
    assign.lhs_indices = std::move(p.lhs);
    assign.extents = std::move(p.extents);
    code_.list.push_back(std::move(assign));
  }

  const Graph& graph_;
  const Shapes& shapes_;
  Assignments& code_;
  // The numbers of those that are in code_.
  absl::flat_hash_map<TensorId, int32_t> gradients_, values_;
};

}  // namespace

Assignments BackwardCode::Whole() const {
  Assignments whole = zero_grads;
  Append(whole, seed);
  Append(whole, backprop);
  return whole;
}

BackwardCode BackpropCode(const Graph& graph, const Shapes& shapes,
                          absl::Span<const TensorId> order) {
  BackwardCode code;
  const absl::Span<const TensorId> others = order.first(order.size() - 1);
  Backprop(graph, shapes, code.zero_grads).FillAll(others, 0);
  Backprop(graph, shapes, code.seed).FillAll({order.back()}, 1);
  Backprop(graph, shapes, code.backprop).PropagateAll(order);
  return code;
}

void AppendBackprop(const Graph& graph, const Shapes& shapes,
                    absl::Span<const TensorId> order,
                    absl::FunctionRef<void(Assignments&)> seed,
                    Assignments& code) {
  Backprop backprop(graph, shapes, code);
  backprop.FillAll(order.first(order.size() - 1), 0);
  seed(code);
  backprop.PropagateAll(order);
}

}  // namespace ocannl
