// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/split_reduce.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

class Splitter {
 public:
  Splitter(LoopProgram& program, const Reduction& reduction,
           const LaneSplit& lanes, IteratorId& next_iterator)
      : program_(program),
        reduction_(reduction),
        lanes_(lanes),
        next_iterator_(next_iterator),
        num_lanes_(NumLanes(reduction.extents, lanes)),
        row_(num_lanes_ / lanes.rows) {
    for (size_t loop = 0; loop < reduction.extents.size(); ++loop) {
      once_ &=
          reduction.extents[loop] == 1 || TargetDependsOn(loop) ||
          absl::c_linear_search(lanes.inner, loop) ||
          (lanes.chunked == loop && reduction.extents[loop] < 2 * lanes.rows);
    }
  }

  Stmt Run() {
    Block body;
    const int64_t most = lanes_.inner.size() > 1 ? kMaxLanes : kMaxTreeTerms;
    if (once_ && !lanes_.chunked && num_lanes_ <= most) {
      body.stmts.push_back(Set{reduction_.set.target, Ended(Tree())});
    } else {
      Lanes(body);
    }
    Enclose(body, [&](size_t loop) { return TargetDependsOn(loop); });
    if (body.stmts.size() == 1) return std::move(body.stmts[0]);
    // A private buffer belongs to one statement.
    return For{LoopKind::kFor, next_iterator_++, 1, std::move(body)};
  }

 private:
  using Values = absl::flat_hash_map<Symbol, Affine>;

  // The terms of few lanes in one expression, which is no more than a map.
  ExprId Tree() {
    std::vector<ExprId> lanes;
    for (int64_t lane = 0; lane < num_lanes_; ++lane) {
      Values values;
      int64_t rest = lane;
      for (size_t k = lanes_.inner.size(); k-- > 0;) {
        const size_t loop = lanes_.inner[k];
        values[Iterator(reduction_.iterators[loop])] =
            rest % reduction_.extents[loop];
        rest /= reduction_.extents[loop];
      }
      lanes.push_back(Substituted(Term(), values, 0));
    }
    for (size_t half = kMaxLanes / 2; half > 0; half /= 2) {
      for (; lanes.size() > half; lanes.pop_back()) {
        ExprId& lower = lanes[lanes.size() - 1 - half];
        lower = Combined(lower, lanes.back());
      }
    }
    return lanes[0];
  }

  // The reduction in a buffer of lanes, which starts with the first terms, if
  // these fill it, or neutral.
  void Lanes(Block& body) {
    buffer_ = program_.buffers.Add(
        {.name = program_.UnusedName(absl::StrCat(target().name, ".lanes")),
         .dtype = target().dtype,
         .role = Role::kPrivate,
         .dims = {num_lanes_}});
    if (!once_) {
      const double neutral = NeutralElement(reduction_.accum);
      body.stmts.push_back(Vec(num_lanes_, [&](const Affine& lane) {
        return Set{Lane(lane),
                   Literal(program_.exprs, target().dtype, neutral).id()};
      }));
    }
    Block steps = Steps();
    Enclose(steps, [&](size_t loop) {
      return !TargetDependsOn(loop) && !IsInLanes(loop);
    });
    absl::c_move(steps.stmts, std::back_inserter(body.stmts));
    Halve(body);
    body.stmts.push_back(Set{reduction_.set.target, Ended(Read(Lane(0)))});
  }

  const Buffer& target() const {
    return program_.buffers[reduction_.set.target.buffer];
  }

  bool TargetDependsOn(size_t loop) const {
    return DependsOn(reduction_.set.target.indices, reduction_.iterators[loop]);
  }

  bool IsInLanes(size_t loop) const {
    return lanes_.chunked == loop || absl::c_linear_search(lanes_.inner, loop);
  }

  // Puts the loops that are `wanted` around the block.
  void Enclose(Block& block, absl::FunctionRef<bool(size_t)> wanted) const {
    for (size_t loop = reduction_.extents.size(); loop-- > 0;) {
      if (reduction_.extents[loop] == 1 || !wanted(loop)) continue;
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
    if (!lanes_.chunked) return {.stmts = {Step(1, 0, once_)}};
    const int64_t extent = reduction_.extents[*lanes_.chunked];
    const int64_t chunks = extent / lanes_.rows;
    Block block;
    if (chunks == 1) {
      block.stmts.push_back(Step(lanes_.rows, 0, once_));
    } else {
      const IteratorId chunk = next_iterator_++;
      const Affine base = lanes_.rows * Affine(Iterator(chunk));
      Stmt step = Step(lanes_.rows, base, /*sets=*/false);
      block.stmts.push_back(
          For{LoopKind::kFor, chunk, chunks, {.stmts = {std::move(step)}}});
    }
    int64_t done = lanes_.rows * chunks;
    if (done < extent) {
      block.stmts.push_back(Step(extent - done, done, /*sets=*/false));
    }
    return block;
  }

  // The reduction's statement for `rows` iterations of the chunked loop, from
  // `base`, each in its lanes, which it accumulates to or `sets`.
  Stmt Step(int64_t rows, const Affine& base, bool sets) {
    Values values;
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
    const ExprId value = sets ? Term() : reduction_.set.value;
    Stmt stmt = Set{Lane(lane), Substituted(value, values, lane)};
    for (; !loops.empty(); loops.pop_back()) {
      loops.back().body.stmts.push_back(std::move(stmt));
      stmt = std::move(loops.back());
    }
    return stmt;
  }

  // What is accumulated to the target: x of y + x, a * b of fma(a, b, y).
  ExprId Term() {
    const Apply apply = std::get<Apply>(program_.exprs[reduction_.set.value]);
    if (apply.op == Op::kFma) {
      return ApplyOp(Op::kMul,
                     {Expr(&program_.exprs, apply.args[0]),
                      Expr(&program_.exprs, apply.args[1])},
                     apply.dtype)
          .id();
    }
    const auto* leaf = std::get_if<Leaf>(&program_.exprs[apply.args[0]]);
    const bool is_target =
        leaf != nullptr &&
        program_.At(*leaf) == LeafValue(reduction_.set.target);
    return apply.args[is_target ? 1 : 0];
  }

  // The value with the iterators replaced and the lane for the target.
  ExprId Substituted(ExprId value, const Values& values, const Affine& lane) {
    return RewriteLeaves(program_, value, [&](const LeafValue& leaf) {
      const Access* access = std::get_if<Access>(&leaf);
      bool is_target =
          access != nullptr && access->buffer == reduction_.set.target.buffer;
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

  ExprId Read(const Access& access) { return program_.Read(access).id(); }

  ExprId Combined(ExprId a, ExprId b) {
    return ApplyOp(reduction_.accum,
                   {Expr(&program_.exprs, a), Expr(&program_.exprs, b)},
                   target().dtype)
        .id();
  }

  // Reduces the upper half of the lanes into the lower one, down to one lane.
  void Halve(Block& block) {
    int64_t live = num_lanes_;
    for (int64_t half = kMaxLanes / 2; half > 0; half /= 2) {
      if (live <= half) continue;
      block.stmts.push_back(Vec(live - half, [&](const Affine& lane) {
        return Set{Lane(lane),
                   Combined(Read(Lane(lane)), Read(Lane(lane + half)))};
      }));
      live = half;
    }
  }

  // What the target becomes by all terms.
  ExprId Ended(ExprId terms) {
    if (!reduction_.first) {
      terms = Combined(Read(reduction_.set.target), terms);
    }
    if (reduction_.accum == Op::kMul) return terms;
    return (Expr(&program_.exprs, terms) + 0).id();
  }

  LoopProgram& program_;
  const Reduction& reduction_;
  const LaneSplit& lanes_;
  IteratorId& next_iterator_;
  int64_t num_lanes_;
  int64_t row_;       // lanes of one iteration of the chunked loop
  bool once_ = true;  // the lanes are filled once, but for a last part
  BufferId buffer_;   // of the lanes
};

}  // namespace

Stmt SplitReduce(LoopProgram& program, const Reduction& reduction,
                 const LaneSplit& lanes, IteratorId& next_iterator) {
  return Splitter(program, reduction, lanes, next_iterator).Run();
}

}  // namespace ocannl
