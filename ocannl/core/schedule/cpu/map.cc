// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/map.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/opt/cost.h"
#include "ocannl/core/schedule/cpu/tiling/plan.h"

namespace ocannl {
namespace {

// To measure these: `bazel run //experiments:bench -- --filter=map`.

// Vectors of a strip: enough independent chains to hide their latencies.
constexpr int64_t kUnrolledVectors = 4;
// Maps of a lower cost (opt/cost.h) are bound by memory and have strips of half
// the length.
constexpr double kComputeBoundCost = 8;
// A nest of at most so many vectors is fully unrolled, unless that costs more:
// `bazel run //experiments:bench -- --filter=first_result`.
constexpr int64_t kMaxUnrolledVectors = 64;
constexpr double kMaxUnrolledCost = 4096;

class MapScheduler {
 public:
  MapScheduler(NestRewriter& rewriter, const PerfectNest& nest,
               absl::Span<const Set> epilogues, const Target& target)
      : rewriter_(rewriter),
        nest_(nest),
        lane_loop_(FindLaneLoop(rewriter.program(), nest)),
        transpose_loop_(FindTransposeLoop()) {
    const LoopProgram& program = rewriter.program();
    const int64_t size = SizeOfCell(program, nest.set.target);
    lanes_ = target.vector_bytes / std::max<int64_t>(size, 4);
    cost_ = 2 + CostOf(program, nest.set.value);
    for (const Set& set : epilogues) {
      cost_ += 2 + CostOf(program, set.value);
    }
  }

  absl::Status Run() {
    const std::vector<NestLoop> order = Order();
    OCANNL_RETURN_IF_ERROR(rewriter_.Reorder(order));
    const size_t outer = order.size() - (transposes() ? 2 : 1);
    serial_.assign(order.begin(), order.begin() + static_cast<int64_t>(outer));
    if (transposes()) {
      OCANNL_ASSIGN_OR_RETURN(const std::vector<Tiles> all,
                              CutOffRemainders(order[outer], order.back()));
      for (const Tiles& tiles : all) OCANNL_RETURN_IF_ERROR(Transpose(tiles));
    } else {
      OCANNL_RETURN_IF_ERROR(VectorizeStrips(order.back()));
    }
    const double vectors =
        Iterations(nest_.outputs) / static_cast<double>(lanes_);
    if (vectors <= kMaxUnrolledVectors && vectors * cost_ <= kMaxUnrolledCost) {
      for (const NestLoop& loop : serial_) {
        OCANNL_RETURN_IF_ERROR(rewriter_.Unroll(loop));
      }
    } else if (vectors * cost_ > kMinParallelCycles && !serial_.empty() &&
               rewriter_.IsOutermost(serial_[0])) {
      return rewriter_.Parallel(serial_[0]);
    }
    return absl::OkStatus();
  }

 private:
  // A loop over columns and, all that is in it, one over lanes.
  struct Tiles {
    NestLoop columns;
    NestLoop lanes;
  };

  // The loop that has unit stride in an operand in which the lanes have another
  // stride: both axes are transposed in registers. -1: none.
  int FindTransposeLoop() const {
    const LoopProgram& program = rewriter_.program();
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

  bool transposes() const { return transpose_loop_ >= 0; }

  // The loops in order: the lanes innermost, around them what is transposed.
  std::vector<NestLoop> Order() const {
    std::vector<NestLoop> order;
    for (int k = 0; k < static_cast<int>(nest_.outputs.size()); ++k) {
      if (k != lane_loop_ && k != transpose_loop_) {
        order.push_back(nest_.outputs[k]);
      }
    }
    if (transposes()) order.push_back(nest_.outputs[transpose_loop_]);
    order.push_back(nest_.outputs[lane_loop_]);
    return order;
  }

  // Iterations of a strip.
  int64_t Strip() const {
    if (transposes()) return lanes_;
    return lanes_ * (cost_ < kComputeBoundCost ? kUnrolledVectors / 2
                                               : kUnrolledVectors);
  }

  // The part of the loop that fills no strip.
  static int64_t RemainderOf(const NestLoop& loop, int64_t size) {
    return loop.extent > size ? loop.extent % size : 0;
  }

  // Index-set splitting of both loops: first what is full tiles.
  absl::StatusOr<std::vector<Tiles>> CutOffRemainders(const NestLoop& columns,
                                                      const NestLoop& lanes) {
    std::vector<Tiles> nests = {{columns, lanes}};
    if (const int64_t rest = RemainderOf(lanes, Strip())) {
      OCANNL_ASSIGN_OR_RETURN(const NestRewriter::Rest other,
                              rewriter_.Cut(lanes, lanes.extent - rest));
      nests[0].lanes.extent -= rest;
      OCANNL_ASSIGN_OR_RETURN(const std::vector<NestLoop> others,
                              rewriter_.Distribute(columns));
      nests.push_back({others[0], other.loop});
    }
    const int64_t rest = RemainderOf(columns, kColumnsAtOnce);
    for (size_t k = nests.size(); rest > 0 && k-- > 0;) {
      Tiles& tiles = nests[k];
      OCANNL_ASSIGN_OR_RETURN(
          const NestRewriter::Rest other,
          rewriter_.Cut(tiles.columns, tiles.columns.extent - rest));
      tiles.columns.extent -= rest;
      nests.push_back(
          {other.loop,
           {other.copies.at(tiles.lanes.iterator), tiles.lanes.extent}});
    }
    return nests;
  }

  // Vectors of some columns at once.
  absl::Status Transpose(const Tiles& tiles) {
    const int64_t size = std::min(tiles.columns.extent, kColumnsAtOnce);
    if (tiles.columns.extent > size) serial_.push_back(tiles.columns);
    OCANNL_RETURN_IF_ERROR(VectorizeStrips(tiles.lanes));
    return rewriter_.UnrollJam(tiles.columns, size);
  }

  absl::Status VectorizeStrips(const NestLoop& lanes) {
    OCANNL_ASSIGN_OR_RETURN(const std::vector<NestLoop> strips,
                            rewriter_.StripMine(lanes, Strip()));
    for (const NestLoop& strip : strips) {
      OCANNL_RETURN_IF_ERROR(rewriter_.Vectorize(strip));
    }
    if (lanes.extent >= 2 * Strip()) serial_.push_back(lanes);
    return absl::OkStatus();
  }

  NestRewriter& rewriter_;
  const PerfectNest& nest_;
  const int lane_loop_;
  const int transpose_loop_;
  int64_t lanes_;  // of a vector
  double cost_ = 0;
  std::vector<NestLoop>
      serial_;  // loops that are no lanes, the outermost first
};

}  // namespace

absl::Status ScheduleMap(NestRewriter& rewriter, const PerfectNest& nest,
                         absl::Span<const Set> epilogues,
                         const Target& target) {
  return MapScheduler(rewriter, nest, epilogues, target).Run();
}

absl::Status ScheduleScatter(NestRewriter& rewriter, const ScatterNest& nest,
                             const Target& target) {
  const LoopProgram& program = rewriter.program();
  const int64_t lanes =
      target.vector_bytes /
      std::max<int64_t>(
          SizeOfCell(program, program.TargetOf(nest.scatter).cell), 4);
  const int64_t strip = kUnrolledVectors * lanes;
  const double cycles = Iterations(nest.loops) / static_cast<double>(lanes) *
                        (kLookupCost + CostOf(program, nest.scatter.value));
  const NestLoop columns = nest.loops.back();
  OCANNL_ASSIGN_OR_RETURN(const std::vector<NestLoop> strips,
                          rewriter.StripMine(columns, strip));
  std::vector<NestLoop> order = nest.loops;
  order.pop_back();
  for (size_t k = order.size(); strips.size() > 1 && k-- > 0;) {
    OCANNL_RETURN_IF_ERROR(rewriter.Distribute(order[k]).status());
  }
  const bool has_several = columns.extent >= 2 * strip;
  if (has_several) {
    order.insert(order.begin(), columns);
    order.push_back(strips[0]);
    OCANNL_RETURN_IF_ERROR(rewriter.Reorder(order));
  }
  for (const NestLoop& loop : strips) {
    OCANNL_RETURN_IF_ERROR(rewriter.Vectorize(loop));
  }
  const bool is_parallel = has_several && cycles > kMinParallelCycles;
  return is_parallel ? rewriter.Parallel(columns) : absl::OkStatus();
}

}  // namespace ocannl
