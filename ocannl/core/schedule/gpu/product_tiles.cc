// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/product_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ocannl::gpu {
namespace {

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
    if (cuts && (!fits || 4 * count < 3 * most)) count = most;
    if (!cuts && !fits) return {};
    parts.push_back({loop, count * own, own});
    threads /= count;
    if (parts.back().size < loop.extent || threads < 2) break;
  }
  return parts;
}

// Whether nearly every processor gets a block.
bool HasBlocks(const Product& product, const ProductTile& tile,
               const GpuTarget& target) {
  const auto results = static_cast<int64_t>(Iterations(product.outputs));
  return 4 * (results / tile.results()) >= 3 * target.multiprocessors;
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

// A square of threads, with results of several rows and columns each.
std::vector<ProductTile> SquareTiles(const Product& product,
                                     const GpuTarget& target, bool cuts) {
  std::vector<ProductTile> tiles;
  const auto side =
      static_cast<int64_t>(std::sqrt(static_cast<double>(target.threads)));
  for (const auto& [rows, columns] : RegisterTiles(target)) {
    ProductTile tile{.rows = PartsAlong(product, 0, side, rows, cuts),
                     .columns = PartsAlong(product, 1, side, columns, cuts),
                     .steps = target.steps};
    if (tile.rows.empty() || tile.columns.empty() ||
        4 * tile.threads() < side * side) {
      continue;
    }
    // Smaller tiles where larger ones leave processors without a block.
    if (columns > 2 && !HasBlocks(product, tile, target)) continue;
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

// Of few rows, or of a vector, a thread has a column; of few columns, a row.
// More steps are staged at once, as each is little for so many threads to wait
// for.
std::optional<ProductTile> FlatTile(const Product& product,
                                    const GpuTarget& target, bool cuts) {
  std::optional<ProductTile> best;
  for (size_t across : {1, 0}) {
    for (int64_t threads = target.threads; threads >= target.warp;
         threads /= 2) {
      ProductTile tile{.rows = {}, .columns = {}, .steps = 2 * target.steps};
      std::vector<TilePart>& few = across == 1 ? tile.rows : tile.columns;
      std::vector<TilePart>& many = across == 1 ? tile.columns : tile.rows;
      few = PartsAlong(product, 1 - across, 1, target.tile, cuts);
      many = PartsAlong(product, across, threads, 1, cuts);
      if (4 * tile.threads() < 3 * target.warp) break;
      best = std::move(tile);
      if (HasBlocks(product, *best, target)) break;
    }
    if (best) break;
  }
  return best;
}

}  // namespace

std::vector<ProductTile> TilesOf(const Product& product,
                                 const GpuTarget& target, bool cuts) {
  std::vector<ProductTile> tiles = SquareTiles(product, target, cuts);
  if (std::optional<ProductTile> flat = FlatTile(product, target, cuts)) {
    tiles.push_back(*std::move(flat));
  }
  return tiles;
}

}  // namespace ocannl::gpu
