// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/map.h"

#include <algorithm>
#include <utility>

#include "ocannl/core/opt/cost.h"
#include "ocannl/core/schedule/plan.h"

namespace ocannl {
namespace {

// To measure these: `bazel run //experiments:bench -- --filter=map`.

// Vectors of a strip: enough independent chains to hide their latencies.
constexpr int64_t kUnrolledVectors = 4;
// Maps of a lower cost (opt/cost.h) are bound by memory and have strips of half
// the length.
constexpr double kComputeBoundCost = 8;
// A nest of at most so many vectors is fully unrolled.
constexpr int64_t kMaxUnrolledVectors = 64;

class MapWriter {
 public:
  MapWriter(NestWriter& writer, const PerfectNest& nest,
            const std::vector<Set>& epilogues, const Target& target)
      : writer_(writer), nest_(nest) {
    LoopProgram& program = writer.program();
    lane_loop_ = FindLaneLoop(program, nest);
    const int64_t size = SizeOfCell(program, nest.set.target);
    const int64_t lanes = target.vector_bytes / std::max<int64_t>(size, 4);
    sets_ = {nest.set};
    sets_.insert(sets_.end(), epilogues.begin(), epilogues.end());
    CostModel costs;
    double cost = 0;
    for (const Set& set : sets_) cost += 2 + costs.Cost(program, set.value);
    transpose_loop_ = FindTransposeLoop();
    strip_ = lanes;
    if (!transposes())
      strip_ *=
          cost < kComputeBoundCost ? kUnrolledVectors / 2 : kUnrolledVectors;
    const double vectors =
        Iterations(nest.outputs) / static_cast<double>(lanes);
    is_parallel_ = vectors * cost > kMinParallelCycles;
    is_unrolled_ = vectors <= kMaxUnrolledVectors;
  }

  void Write(Block& block) { WriteOuter(block, 0, {}, true); }

  bool transposes() const { return transpose_loop_ >= 0; }

 private:
  // Some iterations of the transposed loop.
  struct Columns {
    Affine first;
    int64_t count;
  };

  // The loop that has unit stride in an operand in which the lanes have another
  // stride: both axes are transposed in registers. -1: none.
  int FindTransposeLoop() const {
    const LoopProgram& program = writer_.program();
    auto stride = [&](const Access& read, size_t loop) {
      return StrideOf(program, read, nest_.outputs[loop].iterator);
    };
    for (const Access& read : OperandsOf(program, nest_)) {
      const int64_t step = stride(read, lane_loop_);
      if (step == 0 || step == 1 || SizeOfCell(program, read) != 4) continue;
      for (size_t k = 0; k < nest_.outputs.size(); ++k) {
        if (stride(read, k) == 1 && IsLong(k) && IsLong(lane_loop_)) {
          return static_cast<int>(k);
        }
      }
    }
    return -1;
  }

  bool IsLong(size_t loop) const {
    return nest_.outputs[loop].extent >= kMinTransposed;
  }

  LoopKind KindOf(bool is_outermost) const {
    if (is_unrolled_) return LoopKind::kUnroll;
    return is_outermost && is_parallel_ ? LoopKind::kPar : LoopKind::kFor;
  }

  void WriteOuter(Block& block, size_t depth, const IteratorMap& places,
                  bool is_outermost) {
    if (depth == nest_.outputs.size()) {
      return WriteColumns(block, places, is_outermost);
    }
    if (static_cast<int>(depth) == lane_loop_ ||
        static_cast<int>(depth) == transpose_loop_) {
      return WriteOuter(block, depth + 1, places, is_outermost);
    }
    const NestLoop& loop = nest_.outputs[depth];
    writer_.Loop(block, KindOf(is_outermost), loop.extent,
                 [&](Block& body, const Affine& at) {
                   IteratorMap inner = places;
                   inner[loop.iterator] = at;
                   WriteOuter(body, depth + 1, inner, false);
                 });
  }

  void WriteColumns(Block& block, const IteratorMap& places,
                    bool is_outermost) {
    if (!transposes()) return WriteStrips(block, {0, 1}, places, is_outermost);
    const int64_t extent = nest_.outputs[transpose_loop_].extent;
    const bool is_one_strip = extent < 2 * kColumnsAtOnce;
    writer_.StripMine(block, KindOf(is_outermost), extent, kColumnsAtOnce,
                      [&](Block& body, const Affine& first, int64_t count) {
                        WriteStrips(body, {first, count}, places,
                                    is_outermost && is_one_strip);
                      });
  }

  void WriteStrips(Block& block, const Columns& columns,
                   const IteratorMap& places, bool is_outermost) {
    const NestLoop& loop = nest_.outputs[lane_loop_];
    writer_.StripMine(block, KindOf(is_outermost), loop.extent, strip_,
                      [&](Block& strip, const Affine& first, int64_t count) {
                        writer_.Loop(
                            strip, LoopKind::kUnroll, columns.count,
                            [&](Block& body, const Affine& at) {
                              IteratorMap inner = places;
                              if (transposes()) {
                                inner[nest_.outputs[transpose_loop_].iterator] =
                                    columns.first + at;
                              }
                              WriteLanes(body, loop, first, count, inner);
                            });
                      });
  }

  void WriteLanes(Block& block, const NestLoop& loop, const Affine& first,
                  int64_t count, const IteratorMap& places) {
    writer_.Loop(
        block, LoopKind::kVec, count, [&](Block& lanes, const Affine& at) {
          IteratorMap inner = places;
          inner[loop.iterator] = first + at;
          for (const Set& set : sets_) {
            NestWriter::Assign(lanes, writer_.Remapped(set.target, inner),
                               writer_.Remapped(set.value, inner, {}));
          }
        });
  }

  NestWriter& writer_;
  const PerfectNest& nest_;
  std::vector<Set> sets_;
  int lane_loop_;
  int transpose_loop_;
  int64_t strip_;  // iterations
  bool is_parallel_;
  bool is_unrolled_;
};

// The loops of `nest` from `depth` on; the last one is `count` lanes, added to
// what `places` maps it to.
void WriteStrip(NestWriter& writer, const ScatterNest& nest, size_t depth,
                IteratorMap places, int64_t count, Block& block) {
  const bool is_last = depth + 1 == nest.loops.size();
  const NestLoop& loop = nest.loops[depth];
  writer.Loop(
      block, is_last ? LoopKind::kVec : LoopKind::kFor,
      is_last ? count : loop.extent, [&](Block& body, const Affine& at) {
        Affine& place = places[loop.iterator];
        place = is_last ? place + at : at;
        if (!is_last) {
          return WriteStrip(writer, nest, depth + 1, places, count, body);
        }
        Stmt stmt = nest.scatter;
        writer.Remap(stmt, places);
        body.stmts.push_back(std::move(stmt));
      });
}

}  // namespace

bool WriteMap(NestWriter& writer, const PerfectNest& nest,
              const std::vector<Set>& epilogues, const Target& target,
              Block& block) {
  MapWriter map(writer, nest, epilogues, target);
  map.Write(block);
  return map.transposes();
}

void WriteScatter(NestWriter& writer, const ScatterNest& nest,
                  const Target& target, Block& block) {
  const LoopProgram& program = writer.program();
  const NestLoop& columns = nest.loops.back();
  const int64_t lanes =
      target.vector_bytes /
      std::max<int64_t>(
          SizeOfCell(program, program.TargetOf(nest.scatter).cell), 4);
  const int64_t strip = std::min(kUnrolledVectors * lanes, columns.extent);
  const double cycles =
      Iterations(nest.loops) / static_cast<double>(lanes) *
      (kLookupCost + CostModel().Cost(program, nest.scatter.value));
  const bool is_parallel = cycles > kMinParallelCycles;
  auto write = [&](Block& body, const Affine& first, int64_t count) {
    WriteStrip(writer, nest, 0, {{columns.iterator, first}}, count, body);
  };
  writer.StripMine(block, is_parallel ? LoopKind::kPar : LoopKind::kFor,
                   columns.extent, strip, write);
}

}  // namespace ocannl
