// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/gradient.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/contract.h"
#include "ocannl/core/assign/gather.h"
#include "ocannl/core/index/windows.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/shape/project.h"
#include "ocannl/core/tensor/defined_op.h"

namespace ocannl {
namespace {

// The same loops with those of `lhs` first, in its order, so that reductions
// are innermost.
Projections LhsFirst(Projections p) {
  std::vector<int32_t> order;
  std::vector<char> taken(p.extents.size(), false);
  auto take = [&](int32_t k) {
    if (!std::exchange(taken[k], char{true})) order.push_back(k);
  };
  for (const Affine& index : p.lhs) {
    for (const Affine::Term& term : index.terms()) {
      if (term.symbol.kind == Symbol::kIterator) take(term.symbol.number);
    }
  }
  for (size_t k = 0; k < p.extents.size(); ++k) take(static_cast<int32_t>(k));
  std::vector<int32_t> place(order.size());
  Projections sorted;
  for (size_t k = 0; k < order.size(); ++k) {
    place[order[k]] = static_cast<int32_t>(k);
    sorted.extents.push_back(p.extents[order[k]]);
  }
  auto move = [&](Symbol symbol) -> Affine {
    if (symbol.kind == Symbol::kStatic) return symbol;
    return Iterator(place[symbol.number]);
  };
  for (const Affine& index : p.lhs)
    sorted.lhs.push_back(index.Substitute(move));
  for (const Indices& indices : p.operands) {
    sorted.operands.emplace_back();
    for (const Affine& index : indices) {
      sorted.operands.back().push_back(index.Substitute(move));
    }
  }
  return sorted;
}

// Whether the gradients of the operands are 0 where that of the result is, also
// where the operands are what is outside of them: infinities for a maximum.
bool Vanishes(const ComputeSource& source) {
  const bool is_sum =
      !source.op || source.op == Op::kAdd || source.op == Op::kSub;
  return is_sum || (source.op == Op::kMul && source.accum == Op::kAdd);
}

class Backprop {
 public:
  Backprop(const Graph& graph, const Shapes& shapes)
      : graph_(graph), shapes_(shapes) {
    code_.statics = graph.statics();
  }

  // gradient of `id` =: value
  void Fill(TensorId id, double value) {
    Expr literal = Literal(code_.exprs, graph_[id].dtype, value);
    AssignPointwise(code_, Gradient(id), std::nullopt, literal.id(), {});
    std::get<Assign>(code_.list.back()).logic = "";
  }

  void Propagate(TensorId id) {
    const TensorSource& source = graph_[id].source;
    const auto* compute = std::get_if<ComputeSource>(&source);
    if (compute != nullptr && compute->runs_along) {
      AssignRunningSums(code_, Gradient(compute->operands[0]), Op::kAdd,
                        Gradient(id), RunningAxis(shapes_, *compute), true);
    } else if (compute != nullptr) {
      const std::vector<ProjectedPiece> pieces =
          ProjectPieces(graph_, shapes_, id);
      const std::optional<GatherIndices> gather =
          FindGather(shapes_, id, *compute, pieces);
      if (gather) return PropagateGather(id, *compute, *gather);
      for (size_t k = 0; k < pieces.size(); ++k) {
        if (IsContracted(*compute)) {
          PropagateProduct(id, *compute, pieces[k], k);
        } else {
          PropagatePiece(id, *compute, pieces[k]);
        }
      }
    } else if (const auto* slice = std::get_if<SliceSource>(&source)) {
      Expr g = MakeLeaf(code_.exprs, ComputeDType(graph_[id].dtype), kGradient);
      const StaticSymbol& index = graph_.statics()[slice->static_index];
      Accumulate(id, {slice->of}, Project(graph_, shapes_, id), 0, g, 0,
                 absl::StrCat("|@ ", index.name), /*vanishes=*/false);
    } else if (const auto* reshape = std::get_if<ReshapeSource>(&source)) {
      AssignReshaped(code_, Gradient(reshape->of), Op::kAdd, Gradient(id));
    }
  }

  Assignments& code() { return code_; }

 private:
  // The leaves of a gradient's expression before they are numbered: what
  // reaches the result, the result, and operand k.
  static constexpr int kGradient = 0;
  static constexpr int kResult = 1;
  static constexpr int kOperand = 2;

  int32_t Gradient(TensorId id) {
    return code_.AddArray(GradientArray(graph_, shapes_, id));
  }

  // The gradient of a gather scatters, and the other way round.
  void PropagateGather(TensorId id, const ComputeSource& source,
                       const GatherIndices& gather) {
    const TensorId operand = source.operands[1];
    if (!graph_[operand].has_gradient) return;
    const int32_t to = Gradient(operand);
    const int32_t from = Gradient(id);
    const int32_t ids =
        code_.AddArray(ValueArray(graph_, shapes_, source.gathers->ids));
    const ExprId leaf =
        MakeLeaf(code_.exprs, ComputeDType(graph_[id].dtype), 0).id();
    const std::string& spec = source.gathers->spec;
    Assign assign = source.gathers->scatters
                        ? GatherCells(gather, to, from, ids, leaf, spec)
                        : ScatterCells(gather, from, to, ids, leaf, spec);
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

  void PropagatePiece(TensorId id, const ComputeSource& source,
                      const ProjectedPiece& piece) {
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
    if (source.accum) {
      // As it was rounded when it was stored.
      term = Convert(Convert(Term(source, args, stored), stored), dtype);
    }
    if (source.accum == Op::kMax || source.accum == Op::kMin) {
      // Every cell that attains the extreme receives the whole gradient.
      g = Select(Equal(result, term), g, 0);
    }
    std::vector<std::optional<Expr>> gradients = {g};
    if (source.op) gradients = Gradients(*source.op, args, term, g);
    if (source.defined != nullptr) {
      gradients = GradientsOf(*source.defined, args, term, g);
    }
    for (size_t k = 0; k < gradients.size(); ++k) {
      if (!gradients[k] || !graph_[operands[k]].has_gradient) continue;
      Accumulate(id, operands, piece.projections, k, *gradients[k],
                 OutsideOf(source), LogicText(source), Vanishes(source));
    }
  }

  // gradient of operands[k] =+ rhs, where the operands are `outside` where they
  // have no cells. If the rhs is 0 where the gradient of `id` is, however the
  // operands are, the sums go cell by cell.
  void Accumulate(TensorId id, const std::vector<TensorId>& operands,
                  Projections p, size_t k, Expr rhs, double outside,
                  std::string logic, bool vanishes) {
    std::swap(p.lhs, p.operands[k]);
    p.operands.push_back(p.operands[k]);  // the result's, after the swap
    p.operands[k] = p.lhs;
    std::vector<Projections> parts = {p};
    if (vanishes) {
      parts = CellByCell(p, p.operands.size() - 1,
                         shapes_.at(operands[k]).dims(), shapes_.at(id).dims());
    }
    for (size_t part = 0; part < parts.size(); ++part) {
      std::string of_part =
          parts.size() == 1
              ? logic
              : absl::StrCat(logic, " [", part + 1, " of ", parts.size(), "]");
      AccumulatePart(id, operands, LhsFirst(std::move(parts[part])), k, rhs,
                     outside, std::move(of_part));
    }
  }

  void AccumulatePart(TensorId id, const std::vector<TensorId>& operands,
                      const Projections& p, size_t k, Expr rhs, double outside,
                      std::string logic) {
    const Indices& result = p.operands.back();
    std::vector<Source> sources;
    std::vector<int> numbers(kOperand + operands.size(), -1);
    ExprId renumbered = Rewrite(code_.exprs, rhs.id(), [&](ExprId node) {
      const Leaf* leaf = std::get_if<Leaf>(&code_.exprs[node]);
      if (leaf == nullptr) return node;
      int& number = numbers[leaf->id];
      if (number < 0) {
        number = static_cast<int>(sources.size());
        if (leaf->id == kGradient) {
          sources.push_back(ReadArray{Gradient(id), result});
        } else if (leaf->id == kResult) {
          sources.push_back(ReadArray{
              code_.AddArray(ValueArray(graph_, shapes_, id)), result});
        } else {
          size_t at = leaf->id - kOperand;
          sources.push_back(ReadArray{
              code_.AddArray(ValueArray(graph_, shapes_, operands[at])),
              p.operands[at], outside});
        }
      }
      return MakeLeaf(code_.exprs, leaf->dtype, number).id();
    });
    code_.list.push_back(Assign{.lhs = Gradient(operands[k]),
                                .lhs_indices = p.lhs,
                                .accum = Op::kAdd,
                                .reset = false,
                                .rhs = renumbered,
                                .sources = std::move(sources),
                                .extents = p.extents,
                                .logic = std::move(logic)});
  }

  const Graph& graph_;
  const Shapes& shapes_;
  Assignments code_;
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
  Backprop zero_grads(graph, shapes);
  for (TensorId id : order) {
    if (id != order.back()) zero_grads.Fill(id, 0);
  }
  Backprop seed(graph, shapes);
  seed.Fill(order.back(), 1);
  Backprop backprop(graph, shapes);
  for (size_t k = order.size(); k-- > 0;) backprop.Propagate(order[k]);
  return {.zero_grads = std::move(zero_grads.code()),
          .seed = std::move(seed.code()),
          .backprop = std::move(backprop.code())};
}

}  // namespace ocannl
