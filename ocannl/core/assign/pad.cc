// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/pad.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/containers/stable_vector.h"
#include "ocannl/core/base/names.h"

namespace ocannl {
namespace {

// By how many cells indices leave an array on both sides of each axis.
struct Margins {
  Dims before, after;

  bool operator==(const Margins&) const = default;
};

std::optional<Margins> MarginsOf(const Assignments& code, const Assign& assign,
                                 int32_t array, const Indices& indices) {
  const Dims& dims = code.arrays[array].dims;
  std::optional<Margins> margins;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    int64_t least = indices[axis].offset();
    int64_t greatest = least;
    for (const Affine::Term& term : indices[axis].terms()) {
      // A static index has values inside of its axis.
      if (term.symbol.kind == Symbol::kStatic) continue;
      int64_t span = term.factor * (assign.extents[term.symbol.iterator()] - 1);
      (span < 0 ? least : greatest) += span;
    }
    if (least >= 0 && greatest < dims[axis]) continue;
    if (!margins) margins = Margins{Dims(dims.size()), Dims(dims.size())};
    margins->before[axis] = std::max<int64_t>(-least, 0);
    margins->after[axis] = std::max<int64_t>(greatest - dims[axis] + 1, 0);
  }
  return margins;
}

class Padder {
 public:
  explicit Padder(Assignments code)
      : code_(std::move(code)), list_(std::exchange(code_.list, {})) {
    for (const Array& array : code_.arrays) names_.insert(array.name);
  }

  Assignments Run() {
    for (Assignment& assignment : list_) {
      if (auto* assign = std::get_if<Assign>(&assignment)) {
        Add(std::move(*assign));
      } else {
        code_.list.push_back(std::move(assignment));
      }
    }
    return std::move(code_);
  }

 private:
  void Add(Assign assign) {
    for (Source& source : assign.sources) {
      auto* read = std::get_if<ReadArray>(&source);
      if (read == nullptr) continue;
      auto margins = MarginsOf(code_, assign, read->array, read->indices);
      if (margins) PadSource(*margins, *read);
    }
    std::erase_if(
        copies_, [&](const PaddedCopy& copy) { return copy.of == assign.lhs; });
    auto margins = MarginsOf(code_, assign, assign.lhs, assign.lhs_indices);
    if (!margins) return code_.list.push_back(std::move(assign));
    CHECK(assign.accum) << code_.arrays[assign.lhs].name;
    const int32_t inner = assign.lhs;
    assign.lhs = AddPadded(inner, *margins);
    assign.lhs_indices = Shifted(assign.lhs_indices, *margins);
    std::optional<Op> accum;
    if (!std::exchange(assign.reset, true)) {
      accum = assign.accum;
      // What is subtracted, or divided by, is first summed or multiplied.
      if (accum == Op::kSub) assign.accum = Op::kAdd;
      if (accum == Op::kDiv) assign.accum = Op::kMul;
    }
    const int32_t padded = assign.lhs;
    code_.list.push_back(std::move(assign));
    CellLoops cells(code_.arrays[inner].dims);
    Copy(cells.extents, inner, cells.indices, accum, padded,
         Shifted(cells.indices, *margins));
  }

  // Reads a padded copy instead, whose margins are what is outside: that of an
  // earlier read, if the array still holds the same.
  void PadSource(const Margins& margins, ReadArray& read) {
    const int32_t inner = read.array;
    read.indices = Shifted(read.indices, margins);
    const auto same = absl::c_find_if(copies_, [&](const PaddedCopy& copy) {
      return copy.of == inner && copy.margins == margins &&
             std::bit_cast<uint64_t>(copy.outside) ==
                 std::bit_cast<uint64_t>(read.outside);
    });
    if (same != copies_.end()) {
      read.array = same->array;
      return;
    }
    read.array = AddPadded(inner, margins);
    copies_.push_back({inner, margins, read.outside, read.array});
    Expr outside =
        Literal(code_.exprs, code_.arrays[read.array].dtype, read.outside);
    AssignPointwise(code_, read.array, std::nullopt, outside.id(), {});
    CellLoops cells(code_.arrays[inner].dims);
    Copy(cells.extents, read.array, Shifted(cells.indices, margins),
         std::nullopt, inner, cells.indices);
  }

  static Indices Shifted(Indices indices, const Margins& margins) {
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      indices[axis] += margins.before[axis];
    }
    return indices;
  }

  int32_t AddPadded(int32_t inner, const Margins& margins) {
    const Array& whole = code_.arrays[inner];
    Array array = Intermediate(
        UniqueName(absl::StrCat(whole.name, ".pad"), names_), whole);
    // Not every narrow type has the infinities that may be outside.
    array.dtype = ComputeDType(array.dtype);
    for (size_t axis = 0; axis < array.dims.size(); ++axis) {
      array.dims[axis] += margins.before[axis] + margins.after[axis];
    }
    code_.arrays.push_back(std::move(array));
    return static_cast<int32_t>(code_.arrays.size()) - 1;
  }

  void Copy(LoopExtents extents, int32_t to, Indices to_indices,
            std::optional<Op> accum, int32_t from, Indices from_indices) {
    Expr leaf =
        MakeLeaf(code_.exprs, ComputeDType(code_.arrays[from].dtype), 0);
    code_.list.push_back(
        Assign{.lhs = to,
               .accum = accum,
               .reset = false,
               .lhs_indices = std::move(to_indices),
               .rhs = leaf.id(),
               .sources = {ReadArray{from, std::move(from_indices)}},
               .extents = std::move(extents)});
  }

  // A copy of an array with margins that hold `outside`.
  struct PaddedCopy {
    int32_t of;
    Margins margins;
    double outside;
    int32_t array;
  };

  Assignments code_;
  StableVector<Assignment> list_;
  absl::flat_hash_set<std::string> names_;
  std::vector<PaddedCopy> copies_;  // of arrays that are as they were then
};

}  // namespace

bool LeavesArray(const Assignments& code, const Assign& assign,
                 const ReadArray& read) {
  return MarginsOf(code, assign, read.array, read.indices).has_value();
}

std::vector<std::string> DescribePadding(const Assignments& code,
                                         const Assign& assign) {
  std::vector<std::string> texts;
  auto add = [&](int32_t array, const Indices& indices) {
    const auto margins = MarginsOf(code, assign, array, indices);
    if (!margins) return;
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      const int64_t before = margins->before[axis];
      const int64_t after = margins->after[axis];
      if (before == 0 && after == 0) continue;
      texts.push_back(absl::StrCat("pads ", code.arrays[array].name, " by ",
                                   before, " before and ", after,
                                   " after, axis ", axis));
    }
  };
  for (const Source& source : assign.sources) {
    const auto* read = std::get_if<ReadArray>(&source);
    if (read != nullptr) add(read->array, read->indices);
  }
  add(assign.lhs, assign.lhs_indices);
  return texts;
}

std::optional<Assignments> Pad(const Assignments& code) {
  const bool any = AnyAssign(code, [&](const Assign& assign) {
    return !DescribePadding(code, assign).empty();
  });
  if (!any) return std::nullopt;
  return Padder(code).Run();
}

}  // namespace ocannl
