// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/tile_cost.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ocannl/core/index/division.h"

namespace ocannl {
namespace {

// Products of a step, in cycles, up to which the next step waits for some of
// them; two start in each cycle.
constexpr double kWaitedFor = 6;
// What a tile costs besides its steps: loads and stores of accumulators, the
// first trip through the loop.
constexpr double kTileOverhead = 12;
// What a vector from the second cache costs more than one from the first.
constexpr double kFarVectorCycles = 0.25;
// What a vector across two cache lines costs more.
constexpr double kSplitVectorCycles = 0.2;
// Lines at a distance of pages for which the first cache has room, and what one
// more costs: the others leave before their next number is read.
constexpr int64_t kLinesOfPages = 8;
constexpr double kMissedLineCycles = 2;

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

double TileCost::Cycles(const std::vector<Segment>& rows,
                        const std::vector<Segment>& layers,
                        const std::vector<Segment>& columns) const {
  double cycles = 0;
  for (const Segment& row : rows) {
    for (const Segment& layer : layers) {
      for (const Segment& column : columns) {
        const int64_t vectors = CeilDiv(column.size, lanes_);
        cycles += static_cast<double>(row.count * layer.count * column.count) *
                  (steps_ * StepCycles(row.size, layer.size, vectors) +
                   kTileOverhead +
                   static_cast<double>(row.size * layer.size * vectors));
      }
    }
  }
  return cycles;
}

double TileCost::StepCycles(int64_t rows, int64_t layers,
                            int64_t vectors) const {
  const auto& [m, q, n] = loops_;
  int64_t loads = 0;   // of reads
  int64_t moved = 0;   // of those that n moves
  int64_t missed = 0;  // lines that left the first cache
  for (const Access& read : reads_) {
    const bool is_moved = Stride(read, n) != 0;
    const int64_t count = (m && Stride(read, *m) != 0 ? rows : 1) *
                          (q && Stride(read, *q) != 0 ? layers : 1) *
                          (is_moved ? vectors : 1);
    loads += count;
    if (is_moved) moved += count;
    if (!StaysNear(read, rows)) missed += rows;
  }
  const double products = static_cast<double>(rows * layers * vectors) / 2;
  const double waits = (products + kWaitedFor) / 2;
  // Two start in each cycle, less what they wait for each other.
  const double starts = 1.1 * static_cast<double>(loads) / 2;
  // Rows without layers need room for what only they read.
  const auto cache = static_cast<double>(target_.l1_bytes);
  const bool are_near =
      steps_ * static_cast<double>(moved * target_.vector_bytes) <=
      (q ? 3 * cache / 4 : cache / 2);
  const bool are_split = n.extent % lanes_ != 0;
  const double more =
      (are_near ? 0 : kFarVectorCycles) + (are_split ? kSplitVectorCycles : 0);
  return std::max({products, waits, starts}) +
         more * static_cast<double>(moved) +
         kMissedLineCycles * static_cast<double>(missed);
}

bool TileCost::StaysNear(const Access& read, int64_t rows) const {
  if (!loops_.m) return true;
  const int64_t distance = Stride(read, *loops_.m) * SizeOfCell(program_, read);
  // Lines as far away as a page compete for the same place.
  return distance == 0 ||
         rows * std::gcd(distance, kPageBytes) <= kLinesOfPages * kPageBytes;
}

}  // namespace ocannl
