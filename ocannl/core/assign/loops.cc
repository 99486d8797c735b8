// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/loops.h"

#include <utility>
#include <variant>

#include "absl/algorithm/container.h"

namespace ocannl {
namespace {

void Substitute(Affine& index, absl::FunctionRef<Affine(IteratorId)> value) {
  index = index.Substitute([&](Symbol symbol) -> Affine {
    if (symbol.kind == Symbol::kStatic) return symbol;
    return value(symbol.iterator());
  });
}

// The assignment without its loops of one iteration, whose iterators are 0.
void RemoveUnitLoops(Assign& assign) {
  LoopExtents extents;
  IdVector<IteratorId, Affine> values;
  for (const int64_t extent : assign.extents) {
    values.push_back(extent == 1 ? Affine(0) : Iterator(extents.Add(extent)));
  }
  assign.extents = std::move(extents);
  SubstituteLoops(assign, [&](IteratorId loop) { return values[loop]; });
}

}  // namespace

CellLoops::CellLoops(const Dims& dims) {
  indices.reserve(dims.size());
  for (int64_t dim : dims) {
    if (dim == 1) {
      indices.push_back(0);
      continue;
    }
    indices.push_back(Iterator(extents.Add(dim)));
  }
}

void AddLoops(const Indices& indices, std::vector<IteratorId>& order) {
  for (const Affine& index : indices) {
    for (const Affine::Term& term : index.terms()) {
      if (term.symbol.kind == Symbol::kStatic) continue;
      const IteratorId loop = term.symbol.iterator();
      if (!absl::c_linear_search(order, loop)) order.push_back(loop);
    }
  }
}

bool DependsOn(absl::Span<const Affine> indices, IteratorId loop) {
  return absl::c_any_of(indices, [&](const Affine& index) {
    return index.FactorOf(Iterator(loop)) != 0;
  });
}

bool Reduces(const LoopExtents& extents, const Indices& lhs) {
  for (IteratorId loop : extents.ids()) {
    if (!DependsOn(lhs, loop)) return true;
  }
  return false;
}

bool IsSum(const Projections& nest, const Dims& dims) {
  return Reduces(nest.extents, nest.lhs) ||
         !IsBijective(nest.extents, nest.lhs, dims);
}

void WalkIndices(const Assign& assign,
                 absl::FunctionRef<void(const Affine&)> visit) {
  absl::c_for_each(assign.lhs_indices, visit);
  for (const Source& source : assign.sources) {
    WalkArrays(source, [&](const ReadArray& read) {
      absl::c_for_each(read.indices, visit);
    });
    const auto* number = std::get_if<ReadIndex>(&source);
    if (number != nullptr) visit(number->index);
  }
}

void SubstituteLoops(Indices& indices,
                     absl::FunctionRef<Affine(IteratorId)> value) {
  for (Affine& index : indices) Substitute(index, value);
}

void SubstituteLoops(Assign& assign,
                     absl::FunctionRef<Affine(IteratorId)> value) {
  SubstituteLoops(assign.lhs_indices, value);
  for (Source& source : assign.sources) {
    WalkArrays(source,
               [&](ReadArray& read) { SubstituteLoops(read.indices, value); });
    auto* number = std::get_if<ReadIndex>(&source);
    if (number != nullptr) Substitute(number->index, value);
  }
}

Projections Reordered(Projections nest, absl::Span<const IteratorId> order) {
  LoopExtents extents;
  IdVector<IteratorId, Affine> place(nest.extents.size());
  for (IteratorId loop : order) {
    place[loop] = Iterator(extents.Add(nest.extents[loop]));
  }
  auto renumber = [&](Indices& indices) {
    SubstituteLoops(indices, [&](IteratorId loop) { return place[loop]; });
  };
  nest.extents = std::move(extents);
  renumber(nest.lhs);
  absl::c_for_each(nest.operands, renumber);
  return nest;
}

Projections TargetLoops(const Assign& assign) {
  std::vector<IteratorId> order;
  AddLoops(assign.lhs_indices, order);
  return Reordered(Projections{assign.extents, assign.lhs_indices, {}}, order);
}

void RemoveUnitLoops(Assignments& code, size_t begin) {
  for (size_t k = begin; k < code.list.size(); ++k) {
    auto* assign = std::get_if<Assign>(&code.list[k]);
    if (assign == nullptr || !absl::c_linear_search(assign->extents, 1) ||
        (assign->accum && Reduces(assign->extents, assign->lhs_indices))) {
      continue;
    }
    RemoveUnitLoops(*assign);
  }
}

bool ReachesAll(const Assignments& code, const Assign& assign) {
  return !assign.lookup && IsSurjective(assign.extents, assign.lhs_indices,
                                        code.arrays[assign.lhs].dims);
}

bool ReachesOnce(const Assignments& code, const Assign& assign) {
  return !assign.lookup && IsBijective(assign.extents, assign.lhs_indices,
                                       code.arrays[assign.lhs].dims);
}

bool IsZero(const Assignments& code, const Assign& assign) {
  const auto* constant = std::get_if<Constant>(&code.exprs[assign.rhs]);
  return constant != nullptr && constant->bits == 0;
}

}  // namespace ocannl
