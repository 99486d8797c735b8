// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/sums/cascade.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/assign/sums/find_lanes.h"
#include "ocannl/core/base/containers/stable_vector.h"
#include "ocannl/core/base/names.h"
#include "ocannl/core/index/division.h"
#include "ocannl/core/index/injective.h"
#include "ocannl/core/index/projections.h"

namespace ocannl {
namespace {

// The most cells of partial sums that an array has, but of so many blocks it
// has them, so that these can run in parallel. Code is longer where there are
// more such arrays, one after the other.
constexpr double kMostPartialSums = 1 << 22;
constexpr int64_t kFewestBlocks = 8;

std::vector<IteratorId> ReducedLoops(const Assign& assign) {
  std::vector<IteratorId> loops;
  for (IteratorId loop : assign.extents.ids()) {
    if (!DependsOn(assign.lhs_indices, loop)) loops.push_back(loop);
  }
  return loops;
}

// Whether the order of its terms may be chosen, and these are floats.
bool IsPlainSum(const Assignments& code, const Assign& assign) {
  const bool sums = assign.accum == Op::kAdd || assign.accum == Op::kSub ||
                    assign.accum == Op::kMul;
  if (!sums || !IsFloat(code.arrays[assign.lhs].dtype) || assign.lookup ||
      ReadsSource(assign, assign.lhs)) {
    return false;
  }
  return absl::c_none_of(assign.sources, [](const Source& source) {
    return std::holds_alternative<ReadLookup>(source);
  });
}

double CountTerms(const Assign& assign,
                  const std::vector<IteratorId>& reduced) {
  double terms = 1;
  for (IteratorId loop : reduced) terms *= assign.extents[loop];
  return terms;
}

// How the terms of a sum are added. A sum has one form: its parts do not choose
// another, although their loops over blocks stay.
struct Form {
  int64_t lanes;  // 0: a chain
  bool is_contraction;

  int64_t block() const {
    return is_contraction ? kContractionBlock : kSumBlock * std::max(lanes, 1L);
  }
};

int64_t CountLanes(const Assignments& code, const Assign& assign) {
  const std::optional<LaneSplit> lanes = FindLanes(code, assign, {});
  return lanes ? NumLanes(assign.extents, *lanes) : 0;
}

// None: what sums no floats, or few enough for a block of each form.
std::optional<Form> FormOf(const Assignments& code, const Assign& assign) {
  if (!IsPlainSum(code, assign)) return std::nullopt;
  if (CountTerms(assign, ReducedLoops(assign)) <= kSumBlock) {
    return std::nullopt;
  }
  const int64_t lanes = CountLanes(code, assign);
  return Form{lanes, lanes == 0 && IsContraction(code, assign)};
}

// How a sum is cut along a reduced loop.
struct Cut {
  IteratorId loop;
  int64_t rows;     // iterations of a block
  int64_t blocks;   // all of them, two or more; the last one may be shorter
  bool has_blocks;  // a block is of blocks itself
  Form form;

  bool in_lanes() const { return form.lanes > 0; }
};

std::optional<Cut> FindCut(const Assign& assign,
                           const std::optional<Form>& form) {
  if (!form) return std::nullopt;
  const std::vector<IteratorId> reduced = ReducedLoops(assign);
  const double terms = CountTerms(assign, reduced);
  const int64_t most = form->block();
  if (terms <= most) return std::nullopt;
  // Each cell of the target is of one point of the loops that stay.
  const Projections target = TargetLoops(assign);
  if (!IsInjective({&target, 1})) return std::nullopt;
  const IteratorId loop = *absl::c_find_if(
      reduced, [&](IteratorId k) { return assign.extents[k] > 1; });
  const int64_t extent = assign.extents[loop];
  const double inner = terms / static_cast<double>(extent);
  int64_t rows = std::max<int64_t>(static_cast<int64_t>(most / inner), 1);
  // The sums of blocks are a sum in blocks too. Contractions have large partial
  // sums, so they are cut into those first, and then these into blocks.
  bool has_blocks = false;
  while (form->is_contraction && CeilDiv(extent, rows) > kSumBlock) {
    rows *= kSumBlock;
    has_blocks = true;
  }
  return Cut{.loop = loop,
             .rows = rows,
             .blocks = CeilDiv(extent, rows),
             .has_blocks = has_blocks,
             .form = *form};
}

class Cascader {
 public:
  explicit Cascader(const Assignments& code)
      : code_(code), list_(std::exchange(code_.list, {})) {
    for (const Array& array : code_.arrays) names_.insert(array.name);
  }

  Cascade Run() {
    std::vector<bool> is_zero(code_.arrays.size(), false);
    for (Assignment& assignment : list_) {
      auto* assign = std::get_if<Assign>(&assignment);
      if (assign == nullptr) {
        code_.list.push_back(std::move(assignment));
        continue;
      }
      const int32_t target = assign->lhs;
      const bool zeroes = !assign->accum && IsZero(code_, *assign) &&
                          ReachesAll(code_, *assign);
      const std::optional<Form> form = FormOf(code_, *assign);
      Add(std::move(*assign), is_zero[target], form);
      is_zero[target] = zeroes;
    }
    return {std::move(code_), std::move(sums_)};
  }

 private:
  // Appends the assignment, of which the target `is_zero` before, in blocks.
  void Add(Assign assign, bool is_zero, const std::optional<Form>& form) {
    const std::optional<Cut> cut = FindCut(assign, form);
    if (!cut) return code_.list.push_back(std::move(assign));
    const bool is_neutral =
        assign.reset || (is_zero && assign.accum != Op::kMul);
    // Before the blocks, so that their sum is next to them.
    if (assign.reset) Start(assign.lhs, *assign.accum);
    assign.reset = false;
    const int64_t before = cut->blocks - 1;  // the last one
    const int64_t rest = assign.extents[cut->loop] - before * cut->rows;
    // One chain of blocks: the last one is apart where it is shorter, or
    // pointwise users of the sum are fused with a contraction.
    const int64_t most = MostAtOnce(assign, *cut);
    const bool has_users = form->is_contraction && !sums_.contains(assign.lhs);
    const bool is_apart = !cut->in_lanes() && cut->blocks <= kSumBlock &&
                          (has_users || rest < cut->rows || cut->blocks > most);
    if (!is_apart) return AddBlocks(assign, *cut, 0, cut->blocks, !is_neutral);
    // The first block starts with the target.
    const int64_t first = before == 1 || !is_neutral ? 1 : 0;
    if (first > 0) {
      Add(Part(assign, *cut, 0, std::nullopt, cut->rows), is_neutral, form);
    }
    for (int64_t next = first; next < before; next += most) {
      const int64_t end = std::min(next + most, before);
      if (end - next > 1) {
        AddBlocks(assign, *cut, next, end, /*copies_target=*/false);
      } else {
        AddOne(assign, *cut, next * cut->rows, cut->rows);
      }
    }
    AddOne(assign, *cut, before * cut->rows, rest);
  }

  // So many blocks have partial sums at once. A block may be of blocks itself.
  static int64_t MostAtOnce(const Assign& assign, const Cut& cut) {
    double cells = 1;
    for (IteratorId loop : assign.extents.ids()) {
      if (DependsOn(assign.lhs_indices, loop)) cells *= assign.extents[loop];
    }
    const double most = kMostPartialSums / cells;
    return cut.has_blocks ? std::clamp<int64_t>(most / kSumBlock, 1, kSumBlock)
                          : std::clamp<int64_t>(most, kFewestBlocks, kSumBlock);
  }

  // One block, of `rows` iterations from `first` on, is added to the target.
  void AddOne(const Assign& assign, const Cut& cut, int64_t first,
              int64_t rows) {
    const int32_t partial = AddPartial(assign, cut, "rest", std::nullopt);
    Assign part = Part(assign, cut, first, std::nullopt, rows);
    part.lhs = partial;
    part.lhs_indices = CellsOf(part);
    part.reset = true;
    Add(std::move(part), false, cut.form);
    code_.list.push_back(SumOf(assign, partial, std::nullopt, cut));
  }

  void Start(int32_t array, Op accum) {
    const Expr neutral =
        Literal(code_.exprs, code_.arrays[array].dtype, NeutralElement(accum));
    AssignPointwise(code_, array, std::nullopt, neutral.id(), {});
  }

  // Blocks from `first` up to before `end`, each into a cell of its own, and
  // their sum, which is added to the target; that starts the first block if it
  // `copies_target`.
  void AddBlocks(const Assign& assign, const Cut& cut, int64_t first,
                 int64_t end, bool copies_target) {
    const int32_t partial = AddPartial(assign, cut, "blocks", end - first);
    if (copies_target) StartWithTarget(assign, cut, partial);
    const int64_t rest = assign.extents[cut.loop] - (cut.blocks - 1) * cut.rows;
    const bool has_rest = end == cut.blocks && rest < cut.rows;
    const int64_t whole = end - first - (has_rest ? 1 : 0);
    Assign part = Part(assign, cut, first * cut.rows, whole, cut.rows);
    part.lhs = partial;
    part.lhs_indices = WithBlock(CellsOf(part), cut, Iterator(cut.loop));
    part.reset = !copies_target;
    Add(std::move(part), false, cut.form);
    if (has_rest) {
      part = Part(assign, cut, (first + whole) * cut.rows, std::nullopt, rest);
      part.lhs = partial;
      part.lhs_indices = WithBlock(CellsOf(part), cut, whole);
      Add(std::move(part), !copies_target, cut.form);
    }
    Assign sum = SumOf(assign, partial, end - first, cut);
    sum.reset = copies_target;
    const int64_t lanes = cut.in_lanes() ? CountLanes(code_, sum) : 0;
    Add(std::move(sum), first == 0, Form{lanes, /*is_contraction=*/false});
  }

  // All blocks start with the neutral element, and the first with the target.
  void StartWithTarget(const Assign& assign, const Cut& cut, int32_t partial) {
    Start(partial, *assign.accum);
    Assign first = SumOf(assign, partial, std::nullopt, cut);
    ReadArray& cells = std::get<ReadArray>(first.sources[0]);
    cells.indices = WithBlock(std::move(cells.indices), cut, 0);
    std::swap(first.lhs, cells.array);
    std::swap(first.lhs_indices, cells.indices);
    first.accum.reset();
    code_.list.push_back(std::move(first));
  }

  // The terms of `blocks` blocks of `rows` iterations of the loop from `first`
  // on; a loop over blocks comes before it, if there are several.
  static Assign Part(Assign assign, const Cut& cut, int64_t first,
                     std::optional<int64_t> blocks, int64_t rows) {
    const IteratorId loop = cut.loop;
    const IteratorId next = {loop.index + 1};
    const bool has_rows = rows > 1 || !blocks;
    const int32_t shift = blocks && has_rows ? 1 : 0;
    SubstituteLoops(assign, [&](IteratorId each) -> Affine {
      if (each < loop) return Iterator(each);
      if (each > loop) return Iterator({each.index + shift});
      Affine at = first;
      if (blocks) at.AddScaled(rows, Iterator(loop));
      if (has_rows) at.AddScaled(1, Iterator(shift ? next : loop));
      return at;
    });
    assign.extents[loop] = has_rows ? rows : *blocks;
    if (shift) {
      assign.extents.insert(assign.extents.begin() + loop.index, *blocks);
    }
    return assign;
  }

  // A cell for each point of the loops of the target, in the order of its axes.
  static Indices CellsOf(const Assign& assign) {
    std::vector<IteratorId> loops;
    AddLoops(assign.lhs_indices, loops);
    Indices cells;
    for (IteratorId loop : loops) cells.push_back(Iterator(loop));
    return cells;
  }

  // Blocks are the last axis in lanes, where it makes a contiguous run, and
  // else the first one.
  template <class Vector, class Value>
  static Vector WithBlock(Vector axes, const Cut& cut, Value block) {
    axes.insert(cut.in_lanes() ? axes.end() : axes.begin(), block);
    return axes;
  }

  int32_t AddPartial(const Assign& assign, const Cut& cut,
                     absl::string_view what, std::optional<int64_t> blocks) {
    const Array& target = code_.arrays[assign.lhs];
    Array array = Intermediate(
        UniqueName(absl::StrCat(target.name, ".", what), names_), target);
    std::vector<IteratorId> loops;
    AddLoops(assign.lhs_indices, loops);
    const std::vector<IteratorId> block_loops = BlockLoops(assign, sums_);
    array.dims.clear();
    std::vector<bool> is_block;
    for (IteratorId loop : loops) {
      array.dims.push_back(assign.extents[loop]);
      is_block.push_back(absl::c_linear_search(block_loops, loop));
    }
    if (blocks) {
      array.dims = WithBlock(std::move(array.dims), cut, *blocks);
      is_block = WithBlock(std::move(is_block), cut, true);
    }
    const auto partial = static_cast<int32_t>(code_.arrays.size());
    code_.arrays.push_back(std::move(array));
    sums_[partial] = {std::move(is_block), cut.in_lanes()};
    return partial;
  }

  // The sum of what AddPartial has made.
  Assign SumOf(const Assign& assign, int32_t partial,
               std::optional<int64_t> blocks, const Cut& cut) {
    Projections nest = TargetLoops(assign);
    Indices cells;
    for (IteratorId loop : nest.extents.ids()) cells.push_back(Iterator(loop));
    if (blocks) {
      const Affine block = Iterator(nest.extents.Add(*blocks));
      cells = WithBlock(std::move(cells), cut, block);
    }
    const Expr leaf = MakeLeaf(code_.exprs, code_.arrays[partial].dtype, 0);
    return {.lhs = assign.lhs,
            .accum = assign.accum == Op::kMul ? Op::kMul : Op::kAdd,
            .reset = false,
            .lhs_indices = std::move(nest.lhs),
            .rhs = leaf.id(),
            .sources = {ReadArray{partial, std::move(cells)}},
            .extents = std::move(nest.extents)};
  }

  Assignments code_;
  StableVector<Assignment> list_;
  absl::flat_hash_set<std::string> names_;
  PartialSums sums_;
};

}  // namespace

std::optional<Cascade> CascadeSums(const Assignments& code) {
  const bool any = AnyAssign(code, [&](const Assign& assign) {
    return FindCut(assign, FormOf(code, assign)).has_value();
  });
  if (!any) return std::nullopt;
  return Cascader(code).Run();
}

}  // namespace ocannl
