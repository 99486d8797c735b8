// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/tile_cost.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ocannl/core/index/division.h"

namespace ocannl {
namespace {

// To measure these: `bazel run //experiments:bench -- --filter=gemm,einsum`.

// Products of a step up to which the next step waits for some of them, as two
// start in each cycle.
constexpr double kFmaLatencyTimesPorts = 6;
// Cycles of a tile besides its steps: loads and stores of accumulators, and the
// branch that is mispredicted.
constexpr double kTileOverhead = 12;
// What a load from L2 costs more than one from L1, a vector.
constexpr double kL2LoadCycles = 0.25;
// What a load across two cache lines costs more, a vector.
constexpr double kLineCrossingCycles = 0.2;
// Ways of a set of L1, in which lines at a distance of pages compete, and what
// the next line costs: a miss for each of them.
constexpr int64_t kL1Ways = 8;
constexpr double kL1MissCycles = 2;

}  // namespace

TileCost::TileCost(const LoopProgram& program, const PerfectNest& nest,
                   const Target& target, TileLoops loops)
    : program_(program),
      target_(target),
      loops_(std::move(loops)),
      reads_(OperandsOf(program, nest)),
      steps_(Iterations(nest.reduced)),
      lanes_(target.vector_bytes / SizeOfCell(program, nest.set.target)) {}

int64_t TileCost::Stride(const Access& access, const NestLoop& loop) const {
  return StrideOf(program_, access, loop.iterator);
}

double TileCost::Cycles(const std::vector<TileRange>& m_tiles,
                        const std::vector<TileRange>& q_tiles,
                        const std::vector<TileRange>& n_tiles) const {
  double cycles = 0;
  for (const TileRange& m : m_tiles) {
    for (const TileRange& q : q_tiles) {
      for (const TileRange& n : n_tiles) {
        const int64_t vectors = CeilDiv(n.size, lanes_);
        cycles +=
            static_cast<double>(m.count * q.count * n.count) *
            (steps_ * StepCycles(m.size, q.size, vectors) + kTileOverhead +
             static_cast<double>(m.size * q.size * vectors));
      }
    }
  }
  return cycles;
}

double TileCost::StepCycles(int64_t mr, int64_t qr, int64_t vectors) const {
  const auto& [m, q, n] = loops_;
  int64_t loads = 0;
  int64_t n_loads = 0;  // those that depend on n
  int64_t misses = 0;   // of lines evicted from L1
  for (const Access& read : reads_) {
    const bool is_along_n = Stride(read, n) != 0;
    const int64_t count = (m && Stride(read, *m) != 0 ? mr : 1) *
                          (q && Stride(read, *q) != 0 ? qr : 1) *
                          (is_along_n ? vectors : 1);
    loads += count;
    if (is_along_n) n_loads += count;
    if (!FitsInL1(read, mr)) misses += mr;
  }
  const double products = static_cast<double>(mr * qr * vectors) / 2;
  const double latency_bound = (products + kFmaLatencyTimesPorts) / 2;
  // Two loads issue in each cycle, at 90 % of the peak.
  const double issue_bound = 1.1 * static_cast<double>(loads) / 2;
  // Without q, half of L1 is for what m reads.
  const auto cache = static_cast<double>(target_.l1_bytes);
  const bool is_in_l1 =
      steps_ * static_cast<double>(n_loads * target_.vector_bytes) <=
      (q ? 3 * cache / 4 : cache / 2);
  const bool crosses_lines = n.extent % lanes_ != 0;
  const double more = (is_in_l1 ? 0 : kL2LoadCycles) +
                      (crosses_lines ? kLineCrossingCycles : 0);
  return std::max({products, latency_bound, issue_bound}) +
         more * static_cast<double>(n_loads) +
         kL1MissCycles * static_cast<double>(misses);
}

bool TileCost::FitsInL1(const Access& read, int64_t mr) const {
  if (!loops_.m) return true;
  const int64_t distance = Stride(read, *loops_.m) * SizeOfCell(program_, read);
  // Lines at a distance of a page fall in the same set.
  return distance == 0 ||
         mr * std::gcd(distance, kPageBytes) <= kL1Ways * kPageBytes;
}

}  // namespace ocannl
