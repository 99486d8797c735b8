// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/product_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"

namespace ocannl::gpu {
namespace {

// Of these one fits, or none does.
constexpr size_t kMostFlatTiles = 3;

// Parts of the output loops along which only operand `which` moves, the
// innermost first, for so many threads with at most `registers` cells each.
std::vector<TilePart> PartsAlong(const Product& product, size_t which,
                                 int64_t threads, int64_t registers,
                                 bool cuts) {
  std::vector<TilePart> parts;
  for (size_t k = product.outputs.size(); k-- > 0;) {
    const NestLoop& loop = product.outputs[k];
    if (!MovesAlong(product.operands[which], loop.iterator) ||
        MovesAlong(product.operands[1 - which], loop.iterator) ||
        !MovesAlong(product.result, loop.iterator)) {
      continue;
    }
    const int64_t own = parts.empty() ? std::min(registers, loop.extent) : 1;
    const int64_t most = std::min(threads, loop.extent / own);
    int64_t count = most;
    while (count > 1 && loop.extent % (count * own) != 0) --count;
    const bool fits = loop.extent % (count * own) == 0;
    // What is left over is little beside the rest.
    const bool pays =
        4 * count < 3 * most && 4 * (loop.extent % (most * own)) <= loop.extent;
    if (cuts && (!fits || pays)) count = most;
    if (!cuts && !fits) return {};
    parts.push_back({loop, count * own, own});
    threads /= count;
    if (parts.back().size < loop.extent || threads < 2) break;
  }
  return parts;
}

int64_t BlocksOf(const Product& product, const ProductTile& tile) {
  const auto results = static_cast<int64_t>(Iterations(product.outputs));
  return std::max<int64_t>(results / tile.results(), 1);
}

// Whether nearly every processor gets a block.
bool HasBlocks(const Product& product, const ProductTile& tile,
               const GpuTarget& target) {
  return 4 * BlocksOf(product, tile) >= 3 * target.multiprocessors;
}

// Cells of the results that a block, or of those a thread, has along the parts.
int64_t CellsOf(const std::vector<TilePart>& parts, bool of_thread) {
  int64_t cells = 1;
  for (const TilePart& part : parts) {
    cells *= of_thread ? part.registers : part.size;
  }
  return cells;
}

// So many that the parts of operands for them, which all blocks read at once,
// are enough bytes on their way; and half of the shared memory at most.
int64_t StepsOf(const Product& product, const ProductTile& tile,
                const GpuTarget& target) {
  constexpr int64_t kBytesOfCell = 4;
  constexpr int64_t kPadding = 8;  // cells that rows may have more
  const int64_t bytes =
      kBytesOfCell * (CellsOf(tile.rows, false) + CellsOf(tile.columns, false));
  const int64_t wanted = target.bytes_in_flight * target.multiprocessors /
                         (bytes * BlocksOf(product, tile));
  const int64_t most =
      target.shared_bytes / 2 / (bytes + kBytesOfCell * kPadding);
  return std::max(std::min(wanted, most), 2 * target.steps);
}

// Cycles of the slowest processor: each of four schedulers has a part of the
// warps, whose operations take a cycle each, as do reads of shared memory. To
// fill that, 16 cells a cycle arrive. A remainder is a kernel of its own.
double CyclesOf(const Product& product, const ProductTile& tile,
                const GpuTarget& target) {
  constexpr double kCyclesOfKernel = 3500;  // 2 us
  const double waves = std::ceil(
      static_cast<double>(BlocksOf(product, tile)) /
      static_cast<double>(std::max<int64_t>(target.multiprocessors, 1)));
  const double warps = std::ceil(static_cast<double>(tile.threads()) /
                                 static_cast<double>(4 * target.warp));
  const int64_t rows = CellsOf(tile.rows, true);
  const int64_t columns = CellsOf(tile.columns, true);
  const auto operations = static_cast<double>(rows * columns + rows + columns);
  const auto cells = static_cast<double>(CellsOf(tile.rows, false) +
                                         CellsOf(tile.columns, false));
  double cycles =
      waves * Iterations(product.reduced) * (warps * operations + cells / 16);
  for (const auto* parts : {&tile.rows, &tile.columns}) {
    for (const TilePart& part : *parts) {
      if (part.loop.extent % part.size != 0) cycles += kCyclesOfKernel;
    }
  }
  return cycles;
}

// Rows and columns of the results of a thread, most first.
std::vector<std::pair<int64_t, int64_t>> RegisterTiles(
    const GpuTarget& target) {
  std::vector<std::pair<int64_t, int64_t>> tiles;
  for (int64_t own = target.tile; own > 1; own /= 2) {
    tiles.emplace_back(own, own);
    if (own > 2) tiles.emplace_back(own, own / 2);
  }
  return tiles;
}

// Steps of a square of threads: all of a short innermost loop, so that the next
// ones are prefetched, if a thread has registers left for those.
int64_t StepsOfSquare(const Product& product, const ProductTile& tile,
                      const GpuTarget& target) {
  const std::vector<NestLoop>& reduced = product.reduced;
  const int64_t results =
      CellsOf(tile.rows, true) * CellsOf(tile.columns, true);
  const bool fits = reduced.size() > 1 &&
                    reduced.back().extent <= 2 * target.steps &&
                    2 * results <= target.tile * target.tile;
  return fits ? std::max(reduced.back().extent, target.steps) : target.steps;
}

// A square of threads, with results of several rows and columns each, where
// processors have blocks of them.
std::vector<ProductTile> SquareTiles(const Product& product,
                                     const GpuTarget& target, bool cuts) {
  std::vector<ProductTile> tiles;
  const auto side =
      static_cast<int64_t>(std::sqrt(static_cast<double>(target.threads)));
  for (const auto& [rows, columns] : RegisterTiles(target)) {
    ProductTile tile{.rows = PartsAlong(product, 0, side, rows, cuts),
                     .columns = PartsAlong(product, 1, side, columns, cuts),
                     .steps = 0};
    tile.steps = StepsOfSquare(product, tile, target);
    if (tile.rows.empty() || tile.columns.empty() ||
        4 * tile.threads() < side * side || !HasBlocks(product, tile, target)) {
      continue;
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

// Of few results: a warp or more along the columns, or along the rows, and a
// few threads with some results each across. More steps are staged at once, as
// each is little for so many threads to wait for.
std::vector<ProductTile> FlatTiles(const Product& product,
                                   const GpuTarget& target, bool cuts) {
  std::vector<std::pair<double, ProductTile>> tiles;
  for (size_t across : {1, 0}) {
    for (int64_t threads = target.threads; threads >= target.warp;
         threads /= 2) {
      for (int64_t few = 1; few * threads <= target.threads; few *= 2) {
        for (int64_t own = target.tile; own > 0; own /= 2) {
          ProductTile tile{
              .rows = PartsAlong(product, 0, across == 1 ? few : threads,
                                 across == 1 ? own : 1, cuts),
              .columns = PartsAlong(product, 1, across == 1 ? threads : few,
                                    across == 1 ? 1 : own, cuts),
              .steps = 0};
          if (4 * tile.threads() < 3 * target.warp) continue;
          tile.steps = StepsOf(product, tile, target);
          const double cycles = CyclesOf(product, tile, target);
          tiles.emplace_back(cycles, std::move(tile));
        }
      }
    }
  }
  absl::c_stable_sort(
      tiles, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ProductTile> best;
  for (auto& [cycles, tile] : tiles) {
    if (best.size() < kMostFlatTiles) best.push_back(std::move(tile));
  }
  return best;
}

}  // namespace

std::vector<ProductTile> TilesOf(const Product& product,
                                 const GpuTarget& target, bool cuts) {
  std::vector<ProductTile> tiles = SquareTiles(product, target, cuts);
  if (tiles.empty()) tiles = FlatTiles(product, target, cuts);
  return tiles;
}

}  // namespace ocannl::gpu
