// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/contract.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/index/contraction_order.h"
#include "ocannl/core/index/polyphase.h"

namespace ocannl {
namespace {

// The nest of those loops over `extents` that the indices have: those of lhs
// first, so that reductions are innermost.
Projections Nest(const LoopExtents& extents, Projections indices) {
  std::vector<IteratorId> order;
  AddLoops(indices.lhs, order);
  for (const Indices& operand : indices.operands) AddLoops(operand, order);
  indices.extents = extents;
  return Reordered(std::move(indices), order);
}

class Contractor {
 public:
  Contractor(Assignments& code, const Product& product, std::string prefix)
      : code_(code),
        product_(product),
        prefix_(std::move(prefix)),
        values_(product.factors) {
    std::vector<LoopSet> factors;
    for (const ReadArray& factor : product.factors) {
      factors.push_back(LoopsOf(factor.indices));
    }
    steps_ = ContractionOrder(product.extents, factors,
                              LoopsOf(product.result.indices));
  }

  // All steps but the last one: values() has what they make.
  void Prepare() {
    for (size_t k = 0; k + 1 < steps_.size(); ++k) {
      values_.push_back(Part(absl::StrCat(".product", k + 1), steps_[k].kept));
      Set(values_.back(), FactorsOf(steps_[k]));
    }
  }

  void Finish(bool reset) {
    const size_t last = steps_.size() - 1;
    if (reset) return Set(product_.result, FactorsOf(steps_[last]));
    Add(product_.result, FactorsOf(steps_[last]), std::nullopt);
  }

  void Propagate(int32_t gradient,
                 absl::Span<const std::optional<int32_t>> gradients) {
    // Which values a gradient goes through: those of a step last.
    std::vector<bool> passes;
    for (const auto& each : gradients) passes.push_back(each.has_value());
    for (const ContractionStep& step : steps_) {
      passes.push_back(passes[step.left] ||
                       (step.right >= 0 && passes[step.right]));
    }
    std::vector<ReadArray> incoming(passes.size());
    incoming.back() = {gradient, product_.result.indices};
    for (size_t k = steps_.size(); k-- > 0;) {
      const ReadArray g = incoming[gradients.size() + k];
      for (auto [to, other] : {std::pair(steps_[k].left, steps_[k].right),
                               std::pair(steps_[k].right, steps_[k].left)}) {
        if (to < 0 || !passes[to]) continue;
        std::vector<ReadArray> terms = {g};
        if (other >= 0) terms.push_back(values_[other]);
        const size_t factor = static_cast<size_t>(to);
        if (factor < gradients.size()) {
          Add({*gradients[factor], values_[to].indices}, terms, 0);
          continue;
        }
        const size_t made = factor - gradients.size();
        incoming[to] = Part(absl::StrCat(".grad", made + 1), steps_[made].kept);
        Set(incoming[to], terms);
      }
    }
  }

 private:
  LoopSet LoopsOf(const Indices& indices) const {
    LoopSet loops(product_.extents.size(), false);
    std::vector<IteratorId> all;
    AddLoops(indices, all);
    for (IteratorId loop : all) loops[loop] = true;
    return loops;
  }

  std::vector<ReadArray> FactorsOf(const ContractionStep& step) const {
    std::vector<ReadArray> factors = {values_[step.left]};
    if (step.right >= 0) factors.push_back(values_[step.right]);
    return factors;
  }

  // An array with a cell for each point of the loops.
  ReadArray Part(absl::string_view name, const LoopSet& loops) {
    const DType stored = code_.arrays[product_.result.array].dtype;
    Array array{.name = absl::StrCat(prefix_, name, product_.suffix),
                .dtype = ComputeDType(stored),
                .dims = {}};
    Indices indices;
    for (IteratorId k : loops.ids()) {
      if (!loops[k]) continue;
      array.dims.push_back(product_.extents[k]);
      indices.push_back(Iterator(k));
    }
    return {code_.AddArray(std::move(array)), std::move(indices)};
  }

  Projections NestOf(const ReadArray& to,
                     absl::Span<const ReadArray> terms) const {
    Projections indices = {.extents = {}, .lhs = to.indices, .operands = {}};
    for (const ReadArray& term : terms) {
      indices.operands.push_back(term.indices);
    }
    return Nest(product_.extents, std::move(indices));
  }

  // to =: terms, or =:+ where they are summed.
  void Set(const ReadArray& to, absl::Span<const ReadArray> terms) {
    const Projections nest = NestOf(to, terms);
    const bool sums = IsSum(nest, code_.arrays[to.array].dims);
    Append(to, terms, nest, sums ? std::optional(Op::kAdd) : std::nullopt,
           sums);
  }

  // to =+ terms; where `windows`, one of them, has windows of `to`, by the
  // phases of their stride.
  void Add(const ReadArray& to, absl::Span<const ReadArray> terms,
           std::optional<size_t> windows) {
    std::vector<Projections> nests = {NestOf(to, terms)};
    if (windows) {
      nests = DecomposePhases(nests[0], *windows, code_.arrays[to.array].dims,
                              code_.arrays[terms[*windows].array].dims);
    }
    for (const Projections& nest : nests) {
      Append(to, terms, Nest(nest.extents, nest), Op::kAdd, false);
    }
  }

  void Append(const ReadArray& to, absl::Span<const ReadArray> terms,
              const Projections& nest, std::optional<Op> accum, bool reset) {
    std::vector<Source> sources;
    std::optional<Expr> rhs;
    for (size_t k = 0; k < terms.size(); ++k) {
      const DType dtype = ComputeDType(code_.arrays[terms[k].array].dtype);
      Expr leaf = MakeLeaf(code_.exprs, dtype, static_cast<int>(k));
      rhs = rhs ? *rhs * leaf : leaf;
      sources.push_back(
          ReadArray{terms[k].array, nest.operands[k], terms[k].outside});
    }
    code_.list.push_back(Assign{.lhs = to.array,
                                .accum = accum,
                                .reset = reset,
                                .lhs_indices = nest.lhs,
                                .rhs = rhs->id(),
                                .sources = std::move(sources),
                                .extents = nest.extents});
  }

  Assignments& code_;
  const Product& product_;
  const std::string prefix_;
  std::vector<ReadArray> values_;  // of the factors, and of what steps make
  std::vector<ContractionStep> steps_;
};

}  // namespace

Product ProductOf(Assignments& code, const Graph& graph, const Shapes& shapes,
                  TensorId id, const ProjectedPiece& piece, size_t number) {
  auto read = [&](TensorId tensor, const Indices& indices) {
    return ReadArray{code.AddArray(ValueArray(graph, shapes, tensor)), indices};
  };
  const auto& source = std::get<ComputeSource>(graph[id].source);
  Product product = {
      .extents = piece.projections.extents,
      .result = read(id, piece.projections.lhs),
      .factors = {},
      .suffix = number == 0 ? "" : absl::StrCat("_", number + 1)};
  for (size_t k = 0; k < piece.operands.size(); ++k) {
    product.factors.push_back(read(source.operands[piece.operands[k]],
                                   piece.projections.operands[k]));
  }
  return product;
}

bool IsContracted(const ComputeSource& source) {
  return source.op == Op::kMul && source.accum == Op::kAdd &&
         source.spec() != nullptr && source.operands.size() > 2;
}

void AssignContracted(Assignments& code, const Product& product, bool reset) {
  Contractor contractor(code, product, code.arrays[product.result.array].name);
  contractor.Prepare();
  contractor.Finish(reset);
}

void PropagateContracted(Assignments& code, const Product& product,
                         int32_t gradient,
                         absl::Span<const std::optional<int32_t>> gradients) {
  // Names of their own: the values may be of another routine.
  Contractor contractor(code, product, code.arrays[gradient].name);
  contractor.Prepare();
  contractor.Propagate(gradient, gradients);
}

}  // namespace ocannl
