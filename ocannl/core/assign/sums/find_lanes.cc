// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/sums/find_lanes.h"

#include "absl/algorithm/container.h"
#include "ocannl/core/assign/loops.h"

namespace ocannl {
namespace {

bool Has(const AxisAccess& access, size_t loop) {
  return DependsOn(access.indices, {static_cast<int32_t>(loop)});
}

bool HasAny(const AxisAccess& access, absl::Span<const size_t> loops) {
  return absl::c_any_of(loops, [&](size_t loop) { return Has(access, loop); });
}

// Along how many axes of the target's a load may be repeated.
int64_t CountFixed(const AxisAccess& access) {
  int64_t count = 0;
  for (size_t axis = 0; axis < access.dims.size(); ++axis) {
    count += access.dims[axis] == 1 && access.indices[axis] == Affine(0);
  }
  return count;
}

struct Axes {
  std::vector<size_t> staying;
  std::vector<size_t> reduced;
};

Axes AxesOf(absl::Span<const int64_t> extents, const AxisAccess& target) {
  Axes axes;
  for (size_t loop = 0; loop < extents.size(); ++loop) {
    (Has(target, loop) ? axes.staying : axes.reduced).push_back(loop);
  }
  return axes;
}

bool IsContraction(const Axes& axes, const AxisAccess& target,
                   const std::vector<AxisAccess>& loads) {
  // Whether `a` has a staying axis that `b` lacks.
  auto has_alone = [&](const AxisAccess& a, const AxisAccess& b) {
    const int64_t alone = absl::c_count_if(axes.staying, [&](size_t loop) {
      return Has(a, loop) && !Has(b, loop);
    });
    return alone > 0 && alone > CountFixed(b) - CountFixed(target);
  };
  for (const AxisAccess& a : loads) {
    for (const AxisAccess& b : loads) {
      const bool share = absl::c_any_of(axes.reduced, [&](size_t loop) {
        return Has(a, loop) && Has(b, loop);
      });
      if (share && has_alone(a, b)) return true;
    }
  }
  return false;
}

// Whether a run has the reduced loop as an axis: not if it has one iteration,
// unless it is the outermost one, which padding makes longer.
bool IsInRuns(absl::Span<const int64_t> extents,
              absl::Span<const size_t> reduced, size_t loop) {
  return extents[loop] != 1 || loop == reduced.front();
}

// The reduced loops that are the last axes of a load, the innermost first: all
// of these axes but the outermost one as a whole.
std::vector<size_t> LastLoops(absl::Span<const int64_t> extents,
                              absl::Span<const size_t> reduced,
                              const AxisAccess& load) {
  std::vector<size_t> loops;
  for (size_t axis = load.dims.size(); axis-- > 0;) {
    const Affine& index = load.indices[axis];
    if (index.terms().size() != 1 || index.terms()[0].factor != 1 ||
        index.terms()[0].symbol.kind != Symbol::kIterator) {
      return loops;
    }
    const auto loop = static_cast<size_t>(index.terms()[0].symbol.number);
    if (!absl::c_linear_search(reduced, loop)) return loops;
    if (IsInRuns(extents, reduced, loop)) loops.push_back(loop);
    if (index.offset() != 0 || extents[loop] != load.dims[axis]) return loops;
  }
  return loops;
}

// The innermost of the reduced loops that are one contiguous run, the innermost
// one first.
std::vector<size_t> FindRun(absl::Span<const int64_t> extents,
                            absl::Span<const size_t> reduced,
                            const std::vector<AxisAccess>& loads) {
  std::vector<std::vector<size_t>> last;
  for (const AxisAccess& load : loads) {
    last.push_back(LastLoops(extents, reduced, load));
  }
  std::vector<size_t> run;
  for (size_t k = reduced.size(); k-- > 0;) {
    const size_t loop = reduced[k];
    if (!IsInRuns(extents, reduced, loop)) continue;
    bool depends = false;
    for (size_t load = 0; load < loads.size(); ++load) {
      const bool has = Has(loads[load], loop);
      if (has != (run.empty() ? has : HasAny(loads[load], run))) return run;
      if (has &&
          (last[load].size() <= run.size() || last[load][run.size()] != loop)) {
        return run;
      }
      depends |= has;
    }
    if (!depends) return run;
    run.push_back(loop);
  }
  return run;
}

AxisAccess TargetOf(const Assignments& code, const Assign& assign) {
  return {assign.lhs_indices, code.arrays[assign.lhs].dims};
}

std::vector<AxisAccess> LoadsOf(const Assignments& code, const Assign& assign) {
  std::vector<AxisAccess> loads;
  for (const Source& source : assign.sources) {
    WalkArrays(source, [&](const ReadArray& read) {
      loads.push_back({read.indices, code.arrays[read.array].dims});
    });
  }
  return loads;
}

// The form of a sum that has no loops over blocks.
std::optional<LaneSplit> LanesOf(const Assignments& code,
                                 const Assign& assign) {
  return FindLanes(assign.extents, TargetOf(code, assign),
                   LoadsOf(code, assign));
}

// The sum of the first block, which has the form of all.
Assign FirstBlock(Assign assign, const std::vector<IteratorId>& blocks) {
  SubstituteLoops(assign, [&](IteratorId loop) -> Affine {
    if (absl::c_linear_search(blocks, loop)) return 0;
    return Iterator(loop);
  });
  for (IteratorId loop : blocks) assign.extents[loop] = 1;
  return assign;
}

}  // namespace

bool IsContraction(const Assignments& code, const Assign& assign) {
  const AxisAccess target = TargetOf(code, assign);
  return IsContraction(AxesOf(assign.extents, target), target,
                       LoadsOf(code, assign));
}

std::optional<LaneSplit> FindLanes(absl::Span<const int64_t> extents,
                                   const AxisAccess& target,
                                   const std::vector<AxisAccess>& loads) {
  const Axes axes = AxesOf(extents, target);
  if (IsContraction(axes, target, loads)) return std::nullopt;
  const std::vector<size_t> run = FindRun(extents, axes.reduced, loads);
  LaneSplit lanes;
  int64_t row = 1;
  for (size_t loop : run) {
    if (row * extents[loop] > kMaxLanes) {
      lanes.rows = kMaxLanes / row;
      if (lanes.rows > 1) lanes.chunked = loop;
      break;
    }
    row *= extents[loop];
    if (extents[loop] > 1) lanes.inner.insert(lanes.inner.begin(), loop);
  }
  if (lanes.inner.empty() && !lanes.chunked) return std::nullopt;
  return lanes;
}

std::vector<IteratorId> BlockLoops(const Assign& assign,
                                   const PartialSums& sums) {
  std::vector<IteratorId> loops;
  const auto target = sums.find(assign.lhs);
  if (target == sums.end()) return loops;
  for (size_t axis = 0; axis < assign.lhs_indices.size(); ++axis) {
    if (!target->second.is_block[axis]) continue;
    AddLoops({assign.lhs_indices[axis]}, loops);
  }
  return loops;
}

std::optional<LaneSplit> FindLanes(const Assignments& code,
                                   const Assign& assign,
                                   const PartialSums& sums) {
  const Op op = assign.accum.value_or(Op::kSub);  // which is not split
  const bool splits = op == Op::kMin || op == Op::kMax ||
                      ((op == Op::kAdd || op == Op::kMul) &&
                       IsFloat(code.arrays[assign.lhs].dtype));
  if (!splits || assign.lookup || ReadsSource(assign, assign.lhs)) return {};
  // Lanes have loops of more than one iteration, which most sums of small
  // arrays lack.
  const auto is_unit = [](int64_t extent) { return extent == 1; };
  if (absl::c_all_of(assign.extents, is_unit)) return std::nullopt;
  auto is_in_order = [&](int32_t array) {
    const auto sum = sums.find(array);
    return sum != sums.end() && !sum->second.in_lanes;
  };
  bool in_order = is_in_order(assign.lhs);
  for (const Source& source : assign.sources) {
    WalkArrays(source, [&](const ReadArray& read) {
      in_order |= is_in_order(read.array);
    });
  }
  if (in_order) return std::nullopt;
  const std::vector<IteratorId> blocks = BlockLoops(assign, sums);
  std::optional<LaneSplit> lanes =
      blocks.empty() ? LanesOf(code, assign)
                     : LanesOf(code, FirstBlock(assign, blocks));
  const bool is_exact = op == Op::kMin || op == Op::kMax;
  if (lanes && is_exact && NumLanes(assign.extents, *lanes) < kMaxLanes / 2) {
    return std::nullopt;
  }
  return lanes;
}

int64_t NumLanes(absl::Span<const int64_t> extents, const LaneSplit& lanes) {
  int64_t count = lanes.rows;
  for (size_t loop : lanes.inner) count *= extents[loop];
  return count;
}

}  // namespace ocannl
