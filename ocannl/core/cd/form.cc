// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/cd/form.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

bool SameRead(const ReadArray& a, const ReadArray& b) {
  return a.array == b.array && a.indices == b.indices &&
         MakeConstant(DType::kF64, a.outside) ==
             MakeConstant(DType::kF64, b.outside);
}

}  // namespace

bool SameSource(const Source& a, const Source& b) {
  if (a.index() != b.index()) return false;
  if (const auto* read = std::get_if<ReadArray>(&a)) {
    return SameRead(*read, std::get<ReadArray>(b));
  }
  if (const auto* index = std::get_if<ReadIndex>(&a)) {
    return index->index == std::get<ReadIndex>(b).index;
  }
  const auto& x = std::get<ReadLookup>(a);
  const auto& y = std::get<ReadLookup>(b);
  return SameRead(*x.table, *y.table) && x.axis == y.axis &&
         SameRead(*x.ids, *y.ids);
}

Assign BySlots(const ExprPool& pool, const Assign& assign) {
  Assign slots = assign;
  slots.sources.clear();
  PrintExpr(pool, assign.rhs, [&](const Leaf& leaf) {
    slots.sources.push_back(assign.sources[leaf.id]);
    return "";
  });
  if (!assign.lookup) return slots;
  slots.lookup->ids = static_cast<int32_t>(slots.sources.size());
  slots.sources.push_back(assign.sources[assign.lookup->ids]);
  return slots;
}

void MergeSources(ExprPool& pool, Assign& assign) {
  std::vector<Source> merged;
  std::vector<int32_t> number;
  for (Source& source : assign.sources) {
    const auto known = absl::c_find_if(
        merged, [&](const Source& s) { return SameSource(s, source); });
    number.push_back(static_cast<int32_t>(known - merged.begin()));
    if (known == merged.end()) merged.push_back(std::move(source));
  }
  assign.sources = std::move(merged);
  if (assign.lookup) assign.lookup->ids = number[assign.lookup->ids];
  assign.rhs = Rewrite(pool, assign.rhs, [&](ExprId node) {
    const auto* leaf = std::get_if<Leaf>(&pool[node]);
    if (leaf == nullptr) return node;
    return MakeLeaf(pool, leaf->dtype, number[leaf->id]).id();
  });
}

bool IsPointwise(const Assignments& code, const Assign& by_slots) {
  const Dims& dims = code.arrays[by_slots.lhs].dims;
  const CellLoops loops(dims);
  if (by_slots.lookup || by_slots.extents != loops.extents ||
      by_slots.lhs_indices != loops.indices) {
    return false;
  }
  return absl::c_all_of(by_slots.sources, [&](const Source& source) {
    if (const auto* index = std::get_if<ReadIndex>(&source)) {
      return absl::c_all_of(index->index.terms(), [](const Affine::Term& term) {
        return term.symbol.kind == Symbol::kStatic;
      });
    }
    const auto* read = std::get_if<ReadArray>(&source);
    if (read == nullptr) return false;
    const Dims& from = code.arrays[read->array].dims;
    return NumElements(from) == 1
               ? read->indices == Indices(from.size(), Affine(0))
               : from == dims && read->indices == loops.indices;
  });
}

absl::Status MakePointwise(const Assignments& code, bool has_loops,
                           Assign& assign) {
  const Array& lhs = code.arrays[assign.lhs];
  CellLoops loops(lhs.dims);
  bool is_open = has_loops || assign.lookup;
  for (Source& source : assign.sources) {
    is_open = is_open || std::holds_alternative<ReadLookup>(source);
    auto* read = std::get_if<ReadArray>(&source);
    if (read == nullptr) continue;
    const Array& array = code.arrays[read->array];
    if (NumElements(array.dims) == 1) {
      read->indices = Indices(array.dims.size(), Affine(0));
    } else if (array.dims == lhs.dims) {
      read->indices = loops.indices;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "`", lhs.name, "` is ", DescribeArray(lhs.dtype, lhs.dims), ", but `",
          array.name, "` ", DescribeArray(array.dtype, array.dims)));
    }
  }
  if (is_open) {
    return absl::InvalidArgumentError("which cells go together is open");
  }
  assign.lhs_indices = std::move(loops.indices);
  assign.extents = std::move(loops.extents);
  return absl::OkStatus();
}

std::optional<int32_t> ArrayOf(const Source& source) {
  if (const auto* read = std::get_if<ReadArray>(&source)) return read->array;
  const auto* lookup = std::get_if<ReadLookup>(&source);
  return lookup != nullptr ? std::optional(lookup->table->array) : std::nullopt;
}

std::optional<int64_t> PlainExtent(const Assignments& code,
                                   const Assign& by_slots, IteratorId loop) {
  std::optional<int64_t> extent;
  auto see = [&](int32_t array, const Indices& indices) {
    for (size_t axis = 0; axis < indices.size() && !extent; ++axis) {
      if (indices[axis] != Affine(Iterator(loop))) continue;
      extent = code.arrays[array].dims[axis];
    }
  };
  see(by_slots.lhs, by_slots.lhs_indices);
  for (const Source& source : by_slots.sources) {
    WalkArrays(source,
               [&](const ReadArray& read) { see(read.array, read.indices); });
  }
  return extent;
}

bool OmitsData(const Array& array) {
  return array.memory && array.memory->mode == MemoryMode::kOnDevice;
}

}  // namespace ocannl
