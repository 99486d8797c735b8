// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/split_reduce.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

bool DependsOn(const Strides& access, absl::Span<const size_t> loops) {
  return absl::c_any_of(loops, [&](size_t loop) { return access[loop] != 0; });
}

// Whether `a` depends on one of `loops` that `b` does not depend on.
bool DependsAlone(const Strides& a, const Strides& b,
                  absl::Span<const size_t> loops) {
  return absl::c_any_of(
      loops, [&](size_t loop) { return a[loop] != 0 && b[loop] == 0; });
}

bool IsContraction(absl::Span<const size_t> output,
                   absl::Span<const size_t> reduced,
                   const std::vector<Strides>& loads) {
  for (const Strides& a : loads) {
    for (const Strides& b : loads) {
      bool share = absl::c_any_of(
          reduced, [&](size_t loop) { return a[loop] != 0 && b[loop] != 0; });
      if (share && DependsAlone(a, b, output) && DependsAlone(b, a, output)) {
        return true;
      }
    }
  }
  return false;
}

// The innermost of the reduced loops that are one contiguous run, the innermost
// one first.
std::vector<size_t> FindRun(absl::Span<const int64_t> extents,
                            absl::Span<const size_t> reduced,
                            const std::vector<Strides>& loads) {
  std::vector<size_t> run;
  int64_t length = 1;
  for (size_t k = reduced.size(); k-- > 0;) {
    size_t loop = reduced[k];
    bool depends = false;
    for (const Strides& load : loads) {
      bool expected = run.empty() ? load[loop] != 0 : DependsOn(load, run);
      if (load[loop] != (expected ? length : 0)) return run;
      depends |= expected;
    }
    if (!depends) return run;
    run.push_back(loop);
    length *= extents[loop];
  }
  return run;
}

class Splitter {
 public:
  Splitter(LoopProgram& program, const Reduction& reduction,
           const LaneSplit& lanes, IteratorId& next_iterator)
      : program_(program),
        reduction_(reduction),
        lanes_(lanes),
        next_iterator_(next_iterator) {
    for (size_t loop : lanes.inner) row_ *= reduction.extents[loop];
    buffer_ = program.buffers.Add(
        {.name = program.UnusedName(absl::StrCat(target().name, ".lanes")),
         .dtype = target().dtype,
         .dims = {lanes.rows * row_},
         .role = Role::kPrivate});
  }

  Stmt Run() {
    Block body;
    double neutral = NeutralElement(reduction_.accum);
    body.stmts.push_back(Vec(num_lanes(), [&](const Affine& lane) {
      return Set{Lane(lane),
                 Literal(program_.exprs, target().dtype, neutral).id()};
    }));
    Block steps = Steps();
    Enclose(steps, [&](size_t loop) {
      return !TargetDependsOn(loop) && !IsInLanes(loop);
    });
    absl::c_move(steps.stmts, std::back_inserter(body.stmts));
    Halve(body);
    body.stmts.push_back(Store());
    Enclose(body, [&](size_t loop) { return TargetDependsOn(loop); });
    if (body.stmts.size() == 1) return std::move(body.stmts[0]);
    // A private buffer belongs to one statement.
    return For{LoopKind::kFor, next_iterator_++, 1, std::move(body)};
  }

 private:
  const Buffer& target() const {
    return program_.buffers[reduction_.set.target.buffer];
  }
  int64_t num_lanes() const { return program_.buffers[buffer_].dims[0]; }

  bool TargetDependsOn(size_t loop) const {
    return absl::c_any_of(
        reduction_.set.target.indices, [&](const Affine& index) {
          return index.FactorOf(Iterator(reduction_.iterators[loop])) != 0;
        });
  }

  bool IsInLanes(size_t loop) const {
    return lanes_.chunked == loop || absl::c_linear_search(lanes_.inner, loop);
  }

  // Puts the loops that are `wanted` around the block.
  void Enclose(Block& block, absl::FunctionRef<bool(size_t)> wanted) const {
    for (size_t loop = reduction_.extents.size(); loop-- > 0;) {
      if (!wanted(loop)) continue;
      For around{LoopKind::kFor, reduction_.iterators[loop],
                 reduction_.extents[loop], std::move(block)};
      block = {.stmts = {std::move(around)}};
    }
  }

  Access Lane(const Affine& lane) const { return {buffer_, {lane}}; }

  Stmt Vec(int64_t extent, absl::FunctionRef<Set(const Affine&)> body) {
    if (extent == 1) return body(0);
    const IteratorId lane = next_iterator_++;
    return For{LoopKind::kVec, lane, extent, {.stmts = {body(Iterator(lane))}}};
  }

  // Every iteration of the loops in the lanes, chunk by chunk.
  Block Steps() {
    if (!lanes_.chunked) return {.stmts = {Step(1, 0)}};
    const int64_t extent = reduction_.extents[*lanes_.chunked];
    const int64_t chunks = extent / lanes_.rows;
    Block block;
    if (chunks == 1) {
      block.stmts.push_back(Step(lanes_.rows, 0));
    } else {
      const IteratorId chunk = next_iterator_++;
      Stmt step = Step(lanes_.rows, lanes_.rows * Affine(Iterator(chunk)));
      block.stmts.push_back(
          For{LoopKind::kFor, chunk, chunks, {.stmts = {std::move(step)}}});
    }
    int64_t done = lanes_.rows * chunks;
    if (done < extent) block.stmts.push_back(Step(extent - done, done));
    return block;
  }

  // The reduction's statement for `rows` iterations of the chunked loop, from
  // `base`, each in its lanes.
  Stmt Step(int64_t rows, const Affine& base) {
    absl::flat_hash_map<Symbol, Affine> values;
    std::vector<For> loops;
    Affine lane;
    auto add_loop = [&](size_t loop, int64_t extent, const Affine& first,
                        int64_t stride) {
      Affine place;
      if (extent > 1) {
        loops.push_back({LoopKind::kFor, next_iterator_++, extent, {}});
        place = Iterator(loops.back().iterator);
      }
      values[Iterator(reduction_.iterators[loop])] = first + place;
      lane += stride * place;
    };
    int64_t stride = row_;
    if (lanes_.chunked) add_loop(*lanes_.chunked, rows, base, stride);
    for (size_t loop : lanes_.inner) {
      stride /= reduction_.extents[loop];
      add_loop(loop, reduction_.extents[loop], 0, stride);
    }
    if (!loops.empty()) loops.back().kind = LoopKind::kVec;
    Stmt stmt = Set{Lane(lane), Substituted(values, lane)};
    for (; !loops.empty(); loops.pop_back()) {
      loops.back().body.stmts.push_back(std::move(stmt));
      stmt = std::move(loops.back());
    }
    return stmt;
  }

  // The reduction's value with the iterators replaced and the lane for target.
  ExprId Substituted(const absl::flat_hash_map<Symbol, Affine>& values,
                     const Affine& lane) {
    return RewriteLeaves(
        program_, reduction_.set.value, [&](const LeafValue& leaf) {
          const Access* access = std::get_if<Access>(&leaf);
          bool is_target = access != nullptr &&
                           access->buffer == reduction_.set.target.buffer;
          if (is_target) return program_.Read(Lane(lane)).id();
          return program_
              .Read(SubstituteIndices(leaf,
                                      [&](Symbol symbol) -> Affine {
                                        auto found = values.find(symbol);
                                        return found == values.end()
                                                   ? symbol
                                                   : found->second;
                                      }))
              .id();
        });
  }

  ExprId Combined(const Access& a, const Access& b) {
    return ApplyOp(reduction_.accum, {program_.Read(a), program_.Read(b)},
                   target().dtype)
        .id();
  }

  // Reduces the upper half of the lanes into the lower one, down to one lane.
  void Halve(Block& block) {
    int64_t live = num_lanes();
    for (int64_t half = kMaxLanes / 2; half > 0; half /= 2) {
      if (live <= half) continue;
      block.stmts.push_back(Vec(live - half, [&](const Affine& lane) {
        return Set{Lane(lane), Combined(Lane(lane), Lane(lane + half))};
      }));
      live = half;
    }
  }

  Stmt Store() {
    const Access& target = reduction_.set.target;
    return Set{target, reduction_.first ? program_.Read(Lane(0)).id()
                                        : Combined(target, Lane(0))};
  }

  LoopProgram& program_;
  const Reduction& reduction_;
  const LaneSplit& lanes_;
  IteratorId& next_iterator_;
  int64_t row_ = 1;  // lanes of one iteration of the chunked loop
  BufferId buffer_;  // of the lanes
};

}  // namespace

Strides StridesOf(const Indices& indices, absl::Span<const int64_t> dims,
                  size_t num_loops) {
  IdVector<IteratorId, int64_t> strides(num_loops, 0);
  int64_t cells = 1;
  for (size_t axis = dims.size(); axis-- > 0; cells *= dims[axis]) {
    for (IteratorId loop : strides.ids()) {
      strides[loop] += cells * indices[axis].FactorOf(Iterator(loop));
    }
  }
  return strides;
}

std::optional<LaneSplit> FindLanes(absl::Span<const int64_t> extents,
                                   const Strides& target,
                                   const std::vector<Strides>& loads) {
  std::vector<size_t> output;
  std::vector<size_t> reduced;
  for (size_t loop = 0; loop < extents.size(); ++loop) {
    if (extents[loop] == 1) continue;
    (target[loop] != 0 ? output : reduced).push_back(loop);
  }
  if (IsContraction(output, reduced, loads)) return std::nullopt;
  const std::vector<size_t> run = FindRun(extents, reduced, loads);
  int64_t length = 1;
  for (size_t loop : run) length *= extents[loop];
  if (length < kMinSplitExtent) return std::nullopt;
  for (const Strides& load : loads) {
    if (!DependsOn(load, run)) continue;
    for (size_t loop : output) {
      if (load[loop] == 1) return std::nullopt;
    }
  }
  LaneSplit lanes;
  int64_t row = 1;
  for (size_t loop : run) {
    if (row * extents[loop] > kMaxLanes) {
      lanes.rows = kMaxLanes / row;
      if (lanes.rows > 1) lanes.chunked = loop;
      break;
    }
    row *= extents[loop];
    lanes.inner.insert(lanes.inner.begin(), loop);
  }
  return lanes;
}

std::optional<LaneSplit> FindLanes(const Assignments& code,
                                   const Assign& assign) {
  const Op op = assign.accum.value_or(Op::kSub);  // which is not split
  const bool splits = op == Op::kMin || op == Op::kMax ||
                      ((op == Op::kAdd || op == Op::kMul) &&
                       IsFloat(code.arrays[assign.lhs].dtype));
  if (!splits || assign.lookup || ReadsSource(assign, assign.lhs)) return {};
  auto strides = [&](int32_t array, const Indices& indices) {
    return StridesOf(indices, code.arrays[array].dims, assign.extents.size());
  };
  std::vector<Strides> loads;
  for (const Source& source : assign.sources) {
    WalkArrays(source, [&](const ReadArray& read) {
      loads.push_back(strides(read.array, read.indices));
    });
  }
  return FindLanes(assign.extents, strides(assign.lhs, assign.lhs_indices),
                   loads);
}

Stmt SplitReduce(LoopProgram& program, const Reduction& reduction,
                 const LaneSplit& lanes, IteratorId& next_iterator) {
  return Splitter(program, reduction, lanes, next_iterator).Run();
}

}  // namespace ocannl
