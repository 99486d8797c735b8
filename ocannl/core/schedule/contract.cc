// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/contract.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/schedule/nest_rewriter.h"

namespace ocannl {
namespace {

// Iterations of k whose rows of A are packed together: they fill cache lines
// (`bazel run //experiments:bench -- --filter=gemm`, with A transposed).
constexpr int64_t kCopiedSteps = 4;

// The loops of a tiled nest: over tiles, and from kK on in a tile. A loop that
// is not tiled yet stands where the one over its tiles will.
enum Level {
  kOuter,
  kNBlock,
  kKBlock,
  kMTile,
  kNPanel,
  kQTile,
  kK,
  kM,
  kQ,
  kN,
  kNumLevels
};

// The loops of one copy of the nest; cutting makes several.
struct Loops {
  std::array<std::optional<NestLoop>, kNumLevels> at;
  std::vector<NestLoop> outer;  // kOuter: all but the outermost
  std::vector<NestLoop> k;      // reduced loops in a tile, but kK
  // Which of the plan's ranges it is of, by the level of the tiles.
  std::array<size_t, kNumLevels> range{};

  bool Has(Level level) const { return at[level].has_value(); }
};

// A loop of the plan: where the one over its tiles stands, and that in a tile.
struct Axis {
  Level tiles;
  Level tile;
  const std::vector<TileRange>* ranges;
};

// A microkernel.
struct Tile {
  Loops loops;
  // For each statement its loops, outermost first; of the sum k comes first.
  std::vector<std::vector<NestLoop>> stmts;
};

// The tiles of m, and so on, that share a block of B.
struct SharedBlock {
  NestRegion region;
  std::vector<size_t> tiles;
};

void Append(std::vector<NestLoop>& loops, const std::vector<NestLoop>& more) {
  absl::c_copy(more, std::back_inserter(loops));
}

class ContractScheduler {
 public:
  ContractScheduler(NestRewriter& rewriter, const Contraction& contraction)
      : rewriter_(rewriter),
        nest_(contraction.nest()),
        plan_(contraction.plan()),
        sum_(contraction.epilogue().beta_is_zero ? 1 : 0),
        num_stmts_(sum_ + 1 + contraction.epilogue().sets.size()) {
    order_ = {kOuter, kNBlock, kKBlock, kMTile, kNPanel,
              kQTile, kK,      kM,      kQ,     kN};
    // B that is not packed is streamed from memory once.
    if (streams_b()) std::swap(order_[3], order_[4]);
    const Axis k = {kKBlock, kK, &plan_.blocks.k};
    axes_.push_back({kNBlock, kN, &plan_.tiles.n});
    axes_.push_back({kMTile, kM, &plan_.tiles.m});
    axes_.push_back({kQTile, kQ, &plan_.tiles.q});
    if (plan_.blocks.k_outside_tiles) {
      axes_.insert(axes_.begin(), k);
      std::rotate(order_.begin(), order_.begin() + 2, order_.begin() + 3);
    } else if (plan_.has_k_blocks()) {
      axes_.insert(axes_.begin() + 1, k);
    }
  }

  void Run() {
    Loops loops;
    loops.at[kNBlock] = plan_.loops.n;
    loops.at[kMTile] = plan_.loops.m;
    loops.at[kQTile] = plan_.loops.q;
    loops.k = nest_.reduced;
    if (plan_.has_k_blocks()) {
      loops.at[kKBlock] = loops.k[0];
      loops.k.erase(loops.k.begin());
    }
    std::vector<NestLoop> order;
    if (!plan_.loops.outer.empty()) {
      loops.outer.assign(plan_.loops.outer.begin() + 1,
                         plan_.loops.outer.end());
      order.push_back(plan_.loops.outer[0]);
      parallel_.push_back(plan_.loops.outer[0]);
    }
    Append(order, From(order_[0], loops));
    rewriter_.Reorder(order);
    const NestRegion region = TileAxes(loops, 0);
    if (plan_.is_parallel) {
      for (const NestLoop& loop : parallel_) rewriter_.Parallel(loop);
    }
    if (plan_.packed_a) PackA(region);
    if (plan_.packed_b) PackB();
    for (Tile& tile : tiles_) Finish(tile);
    // Private buffers are of one statement.
    rewriter_.EncloseSerial();
    rewriter_.RemoveUnitLoops();
  }

 private:
  bool streams_b() const { return plan_.has_k_blocks() && !plan_.packed_b; }

  int64_t StrideAlong(const NestLoop& loop, const Access& operand) const {
    return StrideOf(rewriter_.program(), operand, loop.iterator);
  }

  // ---- Tiling --------------------------------------------------------------

  // The loops from a level on, outermost first.
  std::vector<NestLoop> From(Level first, const Loops& loops) const {
    std::vector<NestLoop> order;
    for (auto level = absl::c_find(order_, first); level != order_.end();
         ++level) {
      if (*level == kOuter) Append(order, loops.outer);
      if (loops.Has(*level)) order.push_back(*loops.at[*level]);
    }
    return order;
  }

  // Tiles the axes from `axes_[axis]` on, which are all that is in a loop.
  // Returns what they become.
  NestRegion TileAxes(const Loops& loops, size_t axis) {
    if (axis == axes_.size()) return AddTile(loops);
    const Level tiles = axes_[axis].tiles;
    const size_t first_tile = tiles_.size();
    std::optional<NestRegion> region;
    for (Loops& part : Tiles(loops, axis)) {
      if (tiles == kNBlock) BlockPanels(part);
      const std::vector<NestLoop> order = From(tiles, part);
      rewriter_.Reorder(order);
      AddParallel(part, tiles);
      NestRegion inside = TileAxes(part, axis + 1);
      // Panels are tiled already.
      if (part.Has(tiles) ||
          (tiles == kMTile && order_[3] == kMTile && part.Has(kNPanel))) {
        inside = NestRegion(order[0]);
      }
      region = region ? NestRegion(region->first, inside.last) : inside;
    }
    if (tiles != kMTile) return *region;
    if (order_[3] == kNPanel && loops.Has(kNPanel)) {
      region = NestRegion(*loops.at[kNPanel]);
    }
    blocks_.push_back({*region, {}});
    for (size_t k = first_tile; k < tiles_.size(); ++k) {
      blocks_.back().tiles.push_back(k);
    }
    return *region;
  }

  // Index-set splitting of an axis into its ranges, and strip mining of each.
  std::vector<Loops> Tiles(const Loops& loops, size_t axis) {
    const auto& [tiles, tile, ranges] = axes_[axis];
    std::vector<Loops> parts = {loops};
    if (!loops.Has(tiles)) return parts;
    if (ranges->size() > 1) {
      parts.push_back(CutOff(loops, tiles, (*ranges)[1].first));
    }
    for (size_t k = 0; k < parts.size(); ++k) {
      const TileRange& range = (*ranges)[k];
      parts[k].range[tiles] = k;
      std::optional<NestLoop>& over_tiles = parts[k].at[tiles];
      over_tiles->extent = range.count * range.size;
      if (range.count == 1) {
        std::swap(over_tiles, parts[k].at[tile]);
      } else if (range.size > 1 || tile == kN) {  // kN is there always
        parts[k].at[tile] = rewriter_.Split(*over_tiles, range.size);
        over_tiles->extent = range.count;
      }
    }
    return parts;
  }

  // The loops of what is cut off.
  Loops CutOff(Loops loops, Level level, int64_t at) {
    const NestRewriter::Rest rest = rewriter_.Cut(*loops.at[level], at);
    auto rename = [&](NestLoop& loop) {
      auto copy = rest.copies.find(loop.iterator);
      if (copy != rest.copies.end()) loop.iterator = copy->second;
    };
    for (std::optional<NestLoop>& loop : loops.at) {
      if (loop) rename(*loop);
    }
    absl::c_for_each(loops.outer, rename);
    absl::c_for_each(loops.k, rename);
    loops.at[level] = rest.loop;
    return loops;
  }

  // The loop over panels becomes one over blocks of them.
  void BlockPanels(Loops& loops) {
    std::optional<NestLoop>& blocks = loops.at[kNBlock];
    std::optional<NestLoop>& panels = loops.at[kNPanel];
    const int64_t size = plan_.blocks.panels;
    if (!blocks || blocks->extent <= size) {
      std::swap(blocks, panels);
    } else if (size > 1) {
      panels = rewriter_.Split(*blocks, size);
      blocks->extent /= size;
    }
  }

  // Without outer loops, the one over blocks of panels can be parallel; where
  // there is one block, that over tiles of m.
  void AddParallel(const Loops& loops, Level tiles) {
    if (!plan_.loops.outer.empty() || !loops.Has(tiles)) return;
    if (tiles == kNBlock ||
        (tiles == kMTile && !loops.Has(kNBlock) && !plan_.has_k_blocks())) {
      parallel_.push_back(*loops.at[tiles]);
    }
  }

  // The statements of a tile get loops of their own, and k becomes the
  // outermost of the sum.
  NestRegion AddTile(const Loops& loops) {
    Tile tile{.loops = loops, .stmts = {num_stmts_, From(kM, loops)}};
    for (size_t k = tile.stmts[0].size(); num_stmts_ > 1 && k-- > 0;) {
      const std::vector<NestLoop> others =
          rewriter_.Distribute(tile.stmts[0][k]);
      for (size_t j = 1; j < num_stmts_; ++j) tile.stmts[j][k] = others[j - 1];
    }
    if (loops.Has(kK)) {
      tile.loops.k.insert(tile.loops.k.begin(), *loops.at[kK]);
    }
    std::vector<NestLoop> order = tile.loops.k;
    Append(order, tile.stmts[sum_]);
    rewriter_.Reorder(order);
    tile.stmts[sum_] = std::move(order);
    tiles_.push_back(std::move(tile));
    return RegionOf(tiles_.back());
  }

  static NestRegion RegionOf(const Tile& tile) {
    return {tile.stmts.front()[0].iterator, tile.stmts.back()[0].iterator};
  }

  // ---- Packing -------------------------------------------------------------

  // The reduced loops of the nest, of which a tile has some, on which the
  // operand depends.
  std::vector<NestLoop> StepsOf(const Tile& tile, const Access& operand) const {
    std::vector<NestLoop> steps = nest_.reduced;
    // There is no loop over a block of one step.
    if (tile.loops.k.size() < steps.size()) steps.erase(steps.begin());
    std::erase_if(steps, [&](const NestLoop& loop) {
      return StrideAlong(loop, operand) == 0;
    });
    return steps;
  }

  // The loop of the sum along m.
  NestLoop LoopOfM(const Tile& tile) const {
    return tile.loops.Has(kM) ? tile.stmts[sum_][tile.loops.k.size()]
                              : *tile.loops.at[kMTile];
  }

  // A copy of A for a range of tiles of m: [blocks of k, tiles of m, k..., m].
  // Returns its loops and the number of those over k, which come first now:
  // consecutive m are closer in memory.
  std::pair<std::vector<NestLoop>, size_t> CopyOfA(
      const std::vector<const Tile*>& tiles, const NestRegion& region) {
    std::vector<IteratorId> along;
    for (const Tile* tile : tiles) along.push_back(LoopOfM(*tile).iterator);
    std::vector<NestLoop> copy =
        rewriter_.Pack(plan_.packed_a->buffer, region, along);
    const bool has_lanes = tiles[0]->loops.Has(kM);
    const bool has_tiles = tiles[0]->loops.Has(kMTile);
    const auto end = copy.end() - (has_lanes ? 1 : 0);
    const auto steps =
        end - static_cast<int64_t>(StepsOf(*tiles[0], *plan_.packed_a).size());
    if (has_tiles) std::rotate(steps - 1, steps, end);
    rewriter_.Reorder(copy);
    if (has_lanes) rewriter_.Vectorize(copy.back());
    const size_t num_steps =
        copy.size() - (has_lanes ? 1 : 0) - (has_tiles ? 1 : 0);
    return {std::move(copy), num_steps};
  }

  // Packs A, all ranges of tiles of m at once.
  void PackA(const NestRegion& region) {
    std::map<size_t, std::map<size_t, std::vector<const Tile*>>> ranges;
    for (const Tile& tile : tiles_) {
      const auto& range = tile.loops.range;
      ranges[range[kKBlock]][range[kMTile]].push_back(&tile);
    }
    for (const auto& [k_range, m_ranges] : ranges) {
      std::vector<NestLoop> steps;
      for (const auto& [m_range, tiles] : m_ranges) {
        auto [copy, num_steps] = CopyOfA(tiles, region);
        copy.resize(num_steps);
        for (size_t k = 0; k < steps.size(); ++k) {
          rewriter_.Fuse(steps[k], copy[k]);
        }
        if (steps.empty()) steps = std::move(copy);
      }
      for (const NestLoop& strip :
           rewriter_.StripMine(steps.back(), kCopiedSteps)) {
        std::vector<NestLoop> parts = {strip};
        if (m_ranges.size() > 1) Append(parts, rewriter_.Distribute(strip));
        for (const NestLoop& part : parts) {
          if (part.extent > 1) rewriter_.UnrollJam(part, part.extent);
        }
      }
      const bool has_loop =
          steps.size() > 1 || steps[0].extent >= 2 * kCopiedSteps;
      if (plan_.is_parallel && has_loop && rewriter_.IsOutermost(steps[0])) {
        rewriter_.Parallel(steps[0]);
      }
    }
  }

  // Packs B as [panels, k..., n], each block of its own.
  void PackB() {
    const Access& b = *plan_.packed_b;
    // But once for all outer loops where it depends on none of them.
    const bool packs_once =
        !plan_.loops.outer.empty() && !plan_.has_k_blocks() &&
        absl::c_all_of(plan_.loops.outer, [&](const NestLoop& loop) {
          return StrideAlong(loop, b) == 0;
        });
    for (const SharedBlock& block : blocks_) {
      std::vector<IteratorId> along;
      for (size_t k : block.tiles) {
        along.push_back(tiles_[k].stmts[sum_].back().iterator);
      }
      std::vector<NestLoop> copy = rewriter_.Pack(
          b.buffer,
          packs_once ? NestRegion(plan_.loops.outer[0]) : block.region, along);
      // It runs along memory: the step of unit stride is the innermost.
      const std::vector<NestLoop> steps = StepsOf(tiles_[block.tiles[0]], b);
      const auto first_step =
          copy.end() - 1 - static_cast<int64_t>(steps.size());
      for (size_t k = 0; k < steps.size(); ++k) {
        if (StrideAlong(steps[k], b) != 1) continue;
        const auto unit = first_step + static_cast<int64_t>(k);
        std::rotate(unit, unit + 1, copy.end() - 1);
        break;
      }
      rewriter_.Reorder(copy);
      rewriter_.Vectorize(copy.back());
      if (!plan_.b_needs_transpose) continue;
      for (const NestLoop& strip :
           rewriter_.StripMine(*(copy.end() - 2), kColumnsAtOnce)) {
        rewriter_.Unroll(strip);
      }
    }
  }

  // ---- Microkernels --------------------------------------------------------

  // Lanes, unrolled loops, and accumulators in the place of the target.
  void Finish(Tile& tile) {
    for (std::vector<NestLoop>& loops : tile.stmts) {
      const size_t k = &loops == &tile.stmts[sum_] ? tile.loops.k.size() : 0;
      for (size_t j = k; j + 1 < loops.size(); ++j) rewriter_.Unroll(loops[j]);
      rewriter_.Vectorize(loops.back());
    }
    NestRegion region = RegionOf(tile);
    std::vector<NestLoop> strips;
    if (!tile.loops.k.empty()) {
      strips = rewriter_.StripMine(tile.loops.k.back(), plan_.tiles.unroll);
    }
    // What is left of the only reduced loop stands behind it.
    if (strips.size() > 1 && tile.loops.k.size() == 1 &&
        sum_ + 1 == num_stmts_) {
      region.last = strips[1].iterator;
    }
    for (const NestLoop& strip : strips) rewriter_.Unroll(strip);
    rewriter_.Privatize(nest_.set.target.buffer, region);
  }

  NestRewriter& rewriter_;
  const PerfectNest& nest_;
  const ContractPlan& plan_;
  const size_t sum_;  // which of the statements
  const size_t num_stmts_;
  std::vector<Level> order_;  // outermost first
  std::vector<Axis> axes_;    // in the order in which they are tiled
  std::vector<NestLoop> parallel_;
  std::vector<Tile> tiles_;
  std::vector<SharedBlock> blocks_;
};

}  // namespace

Contraction::Contraction(NestWriter& writer, PerfectNest nest,
                         ContractPlan plan, Epilogue epilogue)
    : nest_(std::move(nest)),
      plan_(std::move(plan)),
      epilogue_(std::move(epilogue)) {
  if (plan_.loops.n.iterator.valid()) return;
  plan_.loops.n.iterator = writer.ReserveIterators(1);
  nest_.outputs.push_back(plan_.loops.n);
}

Stmt Contraction::AsStmt(LoopProgram& program) const {
  std::vector<Stmt> stmts;
  if (epilogue_.beta_is_zero) {
    const DType dtype = program.buffers[nest_.set.target.buffer].dtype;
    stmts.push_back(
        Set{nest_.set.target, program.exprs.Add(Constant{dtype, 0})});
  }
  stmts.push_back(Around(nest_.reduced, {nest_.set}));
  absl::c_copy(epilogue_.sets, std::back_inserter(stmts));
  return Around(nest_.outputs, std::move(stmts));
}

void ScheduleContract(NestRewriter& rewriter, const Contraction& contraction) {
  ContractScheduler(rewriter, contraction).Run();
}

}  // namespace ocannl
