// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/tile_contract.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"

namespace ocannl {
namespace {

// The loops of a tiled nest: over tiles, and from kK on in a tile. A loop that
// is not tiled yet stands where the one over its tiles will.
enum Level { kOuter, kNBlock, kKBlock, kMTile, kPanel, kQTile, kK, kM, kQ, kN };

// The loops of one copy of the nest; cutting makes several.
struct Loops {
  std::array<std::optional<NestLoop>, kN + 1> at;
  std::vector<NestLoop> outer;  // kOuter: all but the outermost
  std::vector<NestLoop> k;      // reduced loops in a tile, but kK
  // Which of the plan's ranges it is of, by the level of the tiles.
  std::array<size_t, kN + 1> range{};

  bool Has(Level level) const { return at[level].has_value(); }
};

// A loop of the plan: where the one over its tiles stands, and that in a tile.
struct Axis {
  Level tiles;
  Level tile;
  const std::vector<TileRange>* ranges;
};

void Append(std::vector<NestLoop>& loops, const std::vector<NestLoop>& more) {
  absl::c_copy(more, std::back_inserter(loops));
}

class ContractTiler {
 public:
  ContractTiler(NestRewriter& rewriter, const Contraction& contraction)
      : rewriter_(rewriter),
        nest_(contraction.nest),
        plan_(contraction.plan),
        epilogue_(contraction.epilogue) {
    tiled_.sum = epilogue_.beta_is_zero ? 1 : 0;
    order_ = {kOuter, kNBlock, kKBlock, kMTile, kPanel, kQTile, kK, kM, kQ, kN};
    // B that is not packed is streamed from memory once.
    if (plan_.has_k_blocks() && !plan_.packed_b) {
      std::swap(order_[3], order_[4]);
    }
    if (plan_.cascade) {
      cascade_ = {{.first = 0, .count = plan_.cascade->extent, .size = 1}};
    }
    // Blocks of a cascaded sum are blocks of k.
    const Axis k = {kKBlock, kK, plan_.cascade ? &cascade_ : &plan_.blocks.k};
    axes_.push_back({kNBlock, kN, &plan_.tiles.n});
    axes_.push_back({kMTile, kM, &plan_.tiles.m});
    axes_.push_back({kQTile, kQ, &plan_.tiles.q});
    if (plan_.blocks.k_outside_tiles) {
      axes_.insert(axes_.begin(), k);
      std::rotate(order_.begin(), order_.begin() + 2, order_.begin() + 3);
    } else if (plan_.has_k_blocks()) {
      axes_.insert(axes_.begin() + 1, k);
    } else if (plan_.cascade) {
      AddCascade(k);
    }
  }

  absl::StatusOr<TiledContract> Run() && {
    Loops loops;
    loops.at[kNBlock] = plan_.loops.n;
    loops.at[kMTile] = plan_.loops.m;
    loops.at[kQTile] = plan_.loops.q;
    loops.k = nest_.reduced;
    if (plan_.has_k_blocks()) {
      loops.at[kKBlock] = loops.k[0];
      loops.k.erase(loops.k.begin());
    }
    if (plan_.cascade) loops.at[kKBlock] = plan_.cascade;
    std::vector<NestLoop> order;
    if (!plan_.loops.outer.empty()) {
      loops.outer.assign(plan_.loops.outer.begin() + 1,
                         plan_.loops.outer.end());
      order.push_back(plan_.loops.outer[0]);
      parallel_.push_back(plan_.loops.outer[0]);
    }
    Append(order, From(order_[0], loops));
    OCANNL_RETURN_IF_ERROR(rewriter_.Reorder(order));
    OCANNL_ASSIGN_OR_RETURN(tiled_.region, TileAxes(loops, 0));
    if (plan_.is_parallel) {
      for (const NestLoop& loop : parallel_) {
        OCANNL_RETURN_IF_ERROR(rewriter_.Parallel(loop));
      }
    }
    return std::move(tiled_);
  }

 private:
  // Where there is but one panel, the blocks of a cascaded sum run inside of
  // tiles, so that those are parallel.
  void AddCascade(const Axis& k) {
    const bool has_panels =
        plan_.tiles.n.size() > 1 || plan_.tiles.n[0].count > 1;
    if (has_panels || !plan_.is_parallel || !plan_.loops.outer.empty()) {
      axes_.insert(axes_.begin() + 1, k);
      return;
    }
    std::erase(order_, kKBlock);
    order_.insert(absl::c_find(order_, kK), kKBlock);
    axes_.push_back(k);
    runs_in_tiles_ = true;
  }

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
  absl::StatusOr<NestRegion> TileAxes(const Loops& loops, size_t axis) {
    if (axis == axes_.size()) return AddKernel(loops);
    const Level tiles = axes_[axis].tiles;
    const size_t first_kernel = tiled_.kernels.size();
    std::optional<NestRegion> region;
    OCANNL_ASSIGN_OR_RETURN(std::vector<Loops> parts, Tiles(loops, axis));
    for (Loops& part : parts) {
      if (tiles == kNBlock) OCANNL_RETURN_IF_ERROR(BlockPanels(part));
      if (tiles == kKBlock && plan_.cascade) {
        tiled_.cascades.push_back(*part.at[kKBlock]);
      }
      const std::vector<NestLoop> order = From(tiles, part);
      OCANNL_RETURN_IF_ERROR(rewriter_.Reorder(order));
      AddParallel(part, tiles);
      OCANNL_ASSIGN_OR_RETURN(NestRegion inside, TileAxes(part, axis + 1));
      // Panels are tiled already.
      if (part.Has(tiles) ||
          (tiles == kMTile && order_[3] == kMTile && part.Has(kPanel))) {
        inside = NestRegion(order[0]);
      }
      region = region ? NestRegion(region->first, inside.last) : inside;
    }
    if (tiles != kMTile) return *region;
    if (order_[3] == kPanel && loops.Has(kPanel)) {
      region = NestRegion(*loops.at[kPanel]);
    }
    tiled_.blocks.push_back({*region, first_kernel, tiled_.kernels.size()});
    return *region;
  }

  // Index-set splitting of an axis into its ranges, and strip mining of each.
  absl::StatusOr<std::vector<Loops>> Tiles(const Loops& loops, size_t axis) {
    const auto& [tiles, tile, ranges] = axes_[axis];
    std::vector<Loops> parts = {loops};
    if (!loops.Has(tiles)) return parts;
    if (ranges->size() > 1) {
      OCANNL_ASSIGN_OR_RETURN(parts.emplace_back(),
                              CutOff(loops, tiles, (*ranges)[1].first));
    }
    for (size_t k = 0; k < parts.size(); ++k) {
      const TileRange& range = (*ranges)[k];
      parts[k].range[tiles] = k;
      std::optional<NestLoop>& over_tiles = parts[k].at[tiles];
      over_tiles->extent = range.count * range.size;
      if (range.count == 1) {
        std::swap(over_tiles, parts[k].at[tile]);
      } else if (range.size > 1 || tile == kN) {  // kN is there always
        OCANNL_ASSIGN_OR_RETURN(parts[k].at[tile],
                                rewriter_.Split(*over_tiles, range.size));
        over_tiles->extent = range.count;
      }
    }
    return parts;
  }

  // The loops of what is cut off.
  absl::StatusOr<Loops> CutOff(Loops loops, Level level, int64_t at) {
    OCANNL_ASSIGN_OR_RETURN(const NestRewriter::Rest rest,
                            rewriter_.Cut(*loops.at[level], at));
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
  absl::Status BlockPanels(Loops& loops) {
    std::optional<NestLoop>& blocks = loops.at[kNBlock];
    std::optional<NestLoop>& panels = loops.at[kPanel];
    const int64_t size = plan_.blocks.panels;
    if (!blocks || blocks->extent <= size) {
      std::swap(blocks, panels);
    } else if (size > 1) {
      OCANNL_ASSIGN_OR_RETURN(panels, rewriter_.Split(*blocks, size));
      blocks->extent /= size;
    }
    return absl::OkStatus();
  }

  // Without outer loops, the one over blocks of panels can be parallel; where
  // there is one block, that over tiles of m.
  void AddParallel(const Loops& loops, Level tiles) {
    if (!plan_.loops.outer.empty() || !loops.Has(tiles)) return;
    const bool has_blocks =
        plan_.has_k_blocks() || (plan_.cascade && !runs_in_tiles_);
    if (tiles == kNBlock ||
        (tiles == kMTile && !loops.Has(kNBlock) && !has_blocks)) {
      parallel_.push_back(*loops.at[tiles]);
    }
  }

  // The statements of a tile get loops of their own, and k becomes the
  // outermost of the sum.
  absl::StatusOr<NestRegion> AddKernel(const Loops& loops) {
    Microkernel kernel{
        .stmts = {tiled_.sum + 1 + epilogue_.sets.size(), From(kM, loops)},
        .k = loops.k,
        .m = std::nullopt,
        .m_tiles = loops.at[kMTile],
        .m_range = loops.range[kMTile],
        .k_range = loops.range[kKBlock]};
    std::vector<std::vector<NestLoop>>& stmts = kernel.stmts;
    for (size_t k = stmts[0].size(); stmts.size() > 1 && k-- > 0;) {
      OCANNL_ASSIGN_OR_RETURN(const std::vector<NestLoop> others,
                              rewriter_.Distribute(stmts[0][k]));
      for (size_t j = 1; j < stmts.size(); ++j) stmts[j][k] = others[j - 1];
    }
    std::vector<NestLoop>& of_sum = stmts[tiled_.sum];
    if (loops.Has(kM)) kernel.m = of_sum[0];
    if (loops.Has(kK)) kernel.k.insert(kernel.k.begin(), *loops.at[kK]);
    of_sum.insert(of_sum.begin(), kernel.k.begin(), kernel.k.end());
    OCANNL_RETURN_IF_ERROR(rewriter_.Reorder(of_sum));
    tiled_.kernels.push_back(std::move(kernel));
    return tiled_.kernels.back().region();
  }

  NestRewriter& rewriter_;
  const PerfectNest& nest_;
  const ContractPlan& plan_;
  const Epilogue& epilogue_;
  std::vector<Level> order_;        // outermost first
  std::vector<Axis> axes_;          // in the order in which they are tiled
  std::vector<TileRange> cascade_;  // of the loop over blocks of a cascade
  bool runs_in_tiles_ = false;      // that loop
  std::vector<NestLoop> parallel_;
  TiledContract tiled_;
};

}  // namespace

absl::StatusOr<TiledContract> TileContract(NestRewriter& rewriter,
                                           const Contraction& contraction) {
  return ContractTiler(rewriter, contraction).Run();
}

}  // namespace ocannl
