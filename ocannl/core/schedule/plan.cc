// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/index/division.h"
#include "ocannl/core/schedule/tile_cost.h"

namespace ocannl {
namespace {

constexpr int64_t kCacheLine = 64;
// Rows of a matrix in memory that pass before the next columns, so that what
// reads ahead has found them by then, while what a tile reads of them stays in
// the first cache. Fewer, where they are read for one row of results: they need
// not make up for more accumulators that come and go; and one where it is
// short, so that nothing is skipped.
constexpr int64_t kRowsOfPart = 32;
constexpr int64_t kRowsForOne = 8;
// Steps of a tile after which it does not matter that lanes of the target are
// apart.
constexpr double kStepsOfScatter = 64;
// To copy what a tile reads takes about as long as the tile.
constexpr int64_t kMinTilesToPackRows = 6;
// Instructions of an unrolled loop body, and its iterations if more follow.
constexpr int64_t kUnrolledSteps = 384;
constexpr int64_t kTurn = 8;
// Vectors side by side in a row, and steps of one row alone, which shares
// nothing.
constexpr int64_t kVectorsOfRow = 4;
constexpr int64_t kTurnOfOnlyRow = 16;
// An operand of the columns is copied, so that what a tile reads is side by
// side, where so many tiles below each other read it: where it takes half of
// the second cache, or where its rows are so far apart that they compete for
// half of its places.
constexpr int64_t kMinTilesToPackFar = 4;
constexpr int64_t kMinTilesToPackRival = 16;
// Lines that far apart have the same place in the second cache.
constexpr int64_t kSamePlace = 64 * 1024;

constexpr int64_t kMostLayers = 6;

// Parts for all tiles: what makes up for accumulators that go to their buffer
// and back.
constexpr double kMinPasses = 4;
constexpr double kMinStepsOfPart = 32;

class Planner {
 public:
  Planner(const LoopProgram& program, const PerfectNest& nest,
          const Target& target)
      : program_(program), nest_(nest), target_(target) {}

  ContractPlan Run() {
    lanes_ = target_.vector_bytes / SizeOfCell(nest_.set.target);
    reads_ = OperandsOf(program_, nest_);
    const int lane_loop = ChooseLaneLoop();
    plan_.n = lane_loop < 0 ? NestLoop{.iterator = -1, .extent = 1}
                            : nest_.outputs[lane_loop];
    for (const Access& read : reads_) {
      if (Stride(read, plan_.n) != 0) moved_.push_back(read);
    }
    ChooseTileLoops(lane_loop);
    ChooseTile();
    if (!ChooseSharedParts()) {
      ChoosePacking();
      ChooseRowPacking();
      ChooseParts();
    }
    ChooseGroup();
    return std::move(plan_);
  }

 private:
  int64_t Stride(const Access& access, const NestLoop& loop) const {
    return StrideOf(program_, access, loop.iterator);
  }

  // The loop that moves the target cell by cell. Where that has few iterations,
  // one whose lanes are full: in the place of two, one that moves the target by
  // two, whose lanes back ends load and store as pairs; or, where lanes come
  // back to the target so seldom that it does not matter where, one that moves
  // an operand cell by cell.
  int ChooseLaneLoop() const {
    const int contiguous = FindLaneLoop(program_, nest_);
    if (contiguous < 0) return contiguous;
    const int64_t few = nest_.outputs[contiguous].extent;
    const bool are_pairs = few == 2 && SizeOfCell(nest_.set.target) == 4;
    const bool are_long =
        few * 2 <= lanes_ && Iterations(nest_.reduced) >= kStepsOfScatter;
    for (size_t k = 0; k < nest_.outputs.size(); ++k) {
      const NestLoop& loop = nest_.outputs[k];
      if (loop.extent % lanes_ != 0) continue;
      if ((are_pairs && Stride(nest_.set.target, loop) == 2) ||
          (are_long && MovesByOne(loop))) {
        return static_cast<int>(k);
      }
    }
    return contiguous;
  }

  // Whether all operands that `loop` moves have its cells side by side, and
  // there is one.
  bool MovesByOne(const NestLoop& loop) const {
    bool moves = false;
    for (const Access& read : reads_) {
      const int64_t stride = Stride(read, loop);
      if (stride != 0 && stride != 1) return false;
      moves |= stride == 1;
    }
    return moves;
  }

  // How many of the operands that n moves `loop` moves too.
  int64_t CountMoved(const NestLoop& loop) const {
    return absl::c_count_if(
        moved_, [&](const Access& read) { return Stride(read, loop) != 0; });
  }

  bool MoveTheSame(const NestLoop& a, const NestLoop& b) const {
    return absl::c_any_of(moved_, [&](const Access& read) {
      return Stride(read, a) != 0 && Stride(read, b) != 0;
    });
  }

  // Whether `loop` moves the operands that n moves, and no others.
  bool MovesAsColumns(const NestLoop& loop) const {
    return absl::c_all_of(reads_, [&](const Access& read) {
      return (Stride(read, loop) != 0) == (Stride(read, plan_.n) != 0);
    });
  }

  // How far the innermost reduced loop steps in what `loop` moves.
  int64_t StepOf(const NestLoop& loop) const {
    int64_t step = 0;
    for (const Access& read : moved_) {
      if (Stride(read, loop) == 0) continue;
      step = std::max(step, std::abs(Stride(read, nest_.reduced.back())));
    }
    return step;
  }

  // Rows share what n moves: the innermost output loop that moves least of it.
  // Layers share what the rows do not, or are columns beyond those of a vector.
  // What the rows read stays in the first cache while all layers pass: it is
  // the operand that is read in shorter steps, for which that cache has room.
  void ChooseTileLoops(int lane_loop) {
    std::vector<NestLoop> loops = nest_.outputs;
    if (lane_loop >= 0) loops.erase(loops.begin() + lane_loop);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const NestLoop& loop : loops) {
      const int64_t count = CountMoved(loop);
      if (moved_.empty() || count > least) continue;
      if (count > 0 && moved_.size() == 1) continue;
      least = count;
      plan_.m = loop;
    }
    const bool is_narrow = least == 0 && plan_.n.extent <= lanes_ &&
                           Stride(moved_[0], plan_.n) == 1;
    for (const NestLoop& loop : loops) {
      const bool is_layer = is_narrow ? MovesAsColumns(loop) : least > 0;
      if (plan_.m && is_layer && !MoveTheSame(*plan_.m, loop)) plan_.q = loop;
    }
    if (plan_.q && StepOf(*plan_.q) < StepOf(*plan_.m)) {
      std::swap(*plan_.m, *plan_.q);
    }
    for (const NestLoop& loop : loops) {
      auto is = [&](const std::optional<NestLoop>& other) {
        return other && other->iterator == loop.iterator;
      };
      if (!is(plan_.m) && !is(plan_.q)) plan_.outer.push_back(loop);
    }
  }

  int64_t SizeOfCell(const Access& access) const {
    return ocannl::SizeOfCell(program_, access);
  }

  // The other registers are for what a step reads and for single instructions.
  // A copy that transposes has more values than registers: three are for those
  // on the stack.
  int64_t MostAccumulators(int64_t vectors) const {
    const bool transposes =
        moved_.size() == 1 && Stride(moved_[0], plan_.n) != 1;
    // Only AVX-512 repeats a cell for all lanes on its way from memory; where
    // there are layers, what a row reads is in a register.
    const int64_t others = 2 + (target_.vector_bytes < 64 ? 1 : 0) +
                           (plan_.q ? 1 : 0) + (transposes ? 3 : 0);
    const int64_t all = target_.vector_registers;
    return std::max(vectors, std::min(all * 3 / 4, all - others - vectors));
  }

  // What one row reads comes from the second cache fastest where all of it lies
  // in line. A sum needs no registers but those of its accumulators.
  int64_t MostVectorsOfOnlyRow() const {
    const auto* sum = std::get_if<Apply>(&program_.exprs[nest_.set.value]);
    bool is_sum = sum != nullptr && sum->op == Op::kAdd && moved_.size() == 1 &&
                  Stride(moved_[0], plan_.n) == 1;
    for (int k = 0; is_sum && k < 2; ++k) {
      is_sum = std::holds_alternative<Leaf>(program_.exprs[sum->args[k]]);
    }
    return target_.vector_registers / (is_sum ? 1 : 2);
  }

  double CacheBytes() const { return static_cast<double>(target_.l2_bytes); }

  // Of what n and the reduced loops go over, in cells like that of `access`.
  double BytesOfColumns(const Access& access) const {
    return Iterations(nest_.reduced) *
           static_cast<double>(plan_.n.extent * SizeOfCell(access));
  }

  void ChooseTile() {
    const int64_t m = plan_.m ? plan_.m->extent : 1;
    const int64_t q = plan_.q ? plan_.q->extent : 1;
    const TileCost cost(program_, nest_, target_,
                        {.m = plan_.m, .q = plan_.q, .n = plan_.n});
    const bool is_only_row =
        m == 1 && q == 1 && BytesOfColumns(nest_.set.target) <= CacheBytes();
    const int64_t widest = is_only_row ? MostVectorsOfOnlyRow() : kVectorsOfRow;
    double least = INFINITY;
    for (int64_t deep = std::min(q, kMostLayers); deep > 0; --deep) {
      for (int64_t vectors = 1; vectors <= widest; ++vectors) {
        const int64_t wide = deep * vectors;
        const int64_t most = MostAccumulators(wide) / wide;
        for (int64_t high = 1; high <= most; ++high) {
          std::vector<Segment> rows = Equalize(m, high);
          std::vector<Segment> layers = Equalize(q, deep);
          std::vector<Segment> columns =
              Pieces(plan_.n.extent, vectors * lanes_);
          const double cycles = cost.Cycles(rows, layers, columns);
          if (cycles >= least) continue;
          least = cycles;
          plan_.rows = std::move(rows);
          plan_.layers = std::move(layers);
          plan_.columns = std::move(columns);
        }
      }
    }
    const Segment& tile = plan_.rows[0];
    const int64_t products = tile.size * plan_.layers[0].size *
                             CeilDiv(plan_.columns[0].size, lanes_);
    plan_.unroll = std::clamp<int64_t>(kUnrolledSteps / products, 1,
                                       nest_.reduced.back().extent);
    if (plan_.unroll < nest_.reduced.back().extent) {
      plan_.unroll =
          std::min(plan_.unroll, is_only_row ? kTurnOfOnlyRow : kTurn);
    }
    plan_.is_parallel = least * Iterations(plan_.outer) > kMinParallelCycles;
  }

  // Where many loops and tiles pass over operands that no cache holds: parts of
  // them that the second cache holds.
  bool ChooseSharedParts() {
    if (plan_.outer.empty() || plan_.q || moved_.size() != 1) return false;
    if (Stride(moved_[0], plan_.n) != 1) return false;
    std::vector<NestLoop> tile_loops = nest_.reduced;
    tile_loops.push_back(plan_.n);
    if (plan_.m) tile_loops.push_back(*plan_.m);
    double bytes = 0;
    for (const Access& read : reads_) {
      if (Stride(read, nest_.reduced[0]) == 0) return false;
      auto cells = static_cast<double>(SizeOfCell(read));
      for (const NestLoop& loop : tile_loops) {
        if (Stride(read, loop) != 0) cells *= static_cast<double>(loop.extent);
      }
      bytes += cells;
    }
    const int64_t extent = nest_.reduced[0].extent;
    const auto all = static_cast<double>(extent);
    const auto most = static_cast<int64_t>(CacheBytes() / 2 / bytes * all);
    const double passes = Iterations(plan_.outer) /
                          static_cast<double>(plan_.outer[0].extent) *
                          static_cast<double>(plan_.rows[0].count);
    const bool are_long =
        Iterations(nest_.reduced) / all * static_cast<double>(most) >=
        kMinStepsOfPart;
    if (most < 1 || most * 2 > extent || passes < kMinPasses || !are_long) {
      return false;
    }
    plan_.parts = Pieces(extent, most);
    plan_.shares_parts = true;
    return true;
  }

  // Whether what a tile reads has room in half of the second cache only if its
  // rows are brought closer to each other.
  bool AreRivals(const Access& operand) const {
    int64_t distance = kSamePlace;
    for (const NestLoop& loop : nest_.reduced) {
      distance =
          std::gcd(distance, Stride(operand, loop) * SizeOfCell(operand));
    }
    return Iterations(nest_.reduced) * static_cast<double>(distance) >=
           CacheBytes() / 2;
  }

  void ChoosePacking() {
    if (plan_.q || moved_.size() != 1) return;
    const Access& operand = moved_[0];
    if (std::get_if<Leaf>(&program_.exprs[nest_.set.value]) != nullptr) return;
    int64_t row_tiles = 0;
    for (const Segment& rows : plan_.rows) row_tiles += rows.count;
    const double bytes = BytesOfColumns(operand);
    const bool contiguous = Stride(operand, plan_.n) == 1;
    const bool moves = absl::c_any_of(nest_.reduced, [&](const NestLoop& k) {
      return Stride(operand, k) != 0;
    });
    if (!moves) return;
    const bool is_far = bytes > CacheBytes() / 2;
    const int64_t tiles = is_far ? kMinTilesToPackFar : kMinTilesToPackRival;
    if (contiguous && (row_tiles < tiles || !(is_far || AreRivals(operand)))) {
      return;
    }
    plan_.packed = operand;
    plan_.is_transposed = !contiguous;
  }

  // Of what all rows read, where m and the reduced loops move it.
  double RowBytes() const {
    return Iterations(nest_.reduced) *
           static_cast<double>((plan_.m ? plan_.m->extent : 1) *
                               SizeOfCell(nest_.set.target));
  }

  // The operand of the rows is copied where each step reads another cache line
  // of it, most lines come from beyond the second cache, and many tiles use
  // them.
  void ChooseRowPacking() {
    if (!plan_.m || plan_.columns[0].count < kMinTilesToPackRows) return;
    if (RowBytes() <= 3 * CacheBytes() / 8) return;
    std::vector<Access> rows;
    for (const Access& read : reads_) {
      if (Stride(read, *plan_.m) != 0) rows.push_back(read);
    }
    if (rows.size() != 1 || Stride(rows[0], plan_.n) != 0) return;
    const int64_t step = Stride(rows[0], nest_.reduced.back());
    if (std::abs(step) * SizeOfCell(rows[0]) < kCacheLine) return;
    plan_.packed_rows = rows[0];
  }

  // Of one tile's packed columns, for `steps` of the outermost reduced loop.
  double PanelBytes(int64_t steps) const {
    const auto all = static_cast<double>(nest_.reduced[0].extent);
    return Iterations(nest_.reduced) / all * static_cast<double>(steps) *
           static_cast<double>(plan_.columns[0].size *
                               SizeOfCell(*plan_.packed));
  }

  // Whether each step reads a little of a long row of what no cache holds.
  bool LeavesRows() const {
    if (plan_.packed || plan_.q || moved_.size() != 1 ||
        nest_.reduced.size() != 1) {
      return false;
    }
    const int64_t step =
        std::abs(Stride(moved_[0], nest_.reduced[0])) * SizeOfCell(moved_[0]);
    return Stride(moved_[0], plan_.n) == 1 &&
           step > plan_.columns[0].size * SizeOfCell(moved_[0]) &&
           step * nest_.reduced[0].extent > target_.l2_bytes;
  }

  // How many rows pass before the next columns, where LeavesRows().
  int64_t RowsOfPart() const {
    if (plan_.m && plan_.m->extent > 1) return kRowsOfPart;
    return plan_.n.extent * SizeOfCell(moved_[0]) <= kPageBytes ? 1
                                                                : kRowsForOne;
  }

  // Cuts the steps where one tile's columns take much of the second cache; into
  // long parts, as each costs another pass over the target.
  void ChooseParts() {
    const int64_t extent = nest_.reduced[0].extent;
    plan_.parts = {{0, 1, extent}};
    if (LeavesRows()) plan_.parts = Pieces(extent, RowsOfPart());
    if (!plan_.packed || plan_.columns[0].count == 1) return;
    const double cache = CacheBytes();
    const auto most = static_cast<int64_t>(cache / 8 / PanelBytes(1));
    if (extent <= most) return;
    const int64_t count = CeilDiv(extent, std::max<int64_t>(most, 1));
    // Whole turns of the unrolled loop, but for the last part.
    const int64_t turn =
        nest_.reduced.size() == 1 ? std::min(plan_.unroll, kTurn) : 1;
    plan_.parts = Pieces(extent, CeilDiv(extent, count * turn) * turn);
  }

  // Where all rows do not stay in the second cache, many columns stay there;
  // where only the results do not, they are written row by row.
  void ChooseGroup() {
    const double cache = CacheBytes();
    const int64_t count = plan_.columns[0].count;
    const auto cells = static_cast<double>(
        NumElements(program_.buffers[nest_.set.target.buffer].dims));
    const double row =
        static_cast<double>(plan_.n.extent * SizeOfCell(nest_.set.target));
    if (cells * static_cast<double>(SizeOfCell(nest_.set.target)) > cache &&
        plan_.outer.empty() && Iterations(nest_.reduced) * row <= cache / 4) {
      plan_.group = count;
    }
    double fit = 0;
    int64_t most = count / target_.threads;
    if (LeavesRows()) {
      // Memory is shared: two threads read as fast as more would, and one does
      // where it reads without a gap.
      most = RowsOfPart() == 1 ? count : count / 2;
      fit = static_cast<double>(kPageBytes) /
            static_cast<double>(plan_.columns[0].size * SizeOfCell(moved_[0]));
    } else if (plan_.packed && RowBytes() > cache / 4) {
      fit = 3 * cache / 8 / PanelBytes(plan_.parts[0].size);
    } else {
      return;
    }
    plan_.group = std::clamp<int64_t>(static_cast<int64_t>(fit), 1,
                                      std::max<int64_t>(most, 1));
    while (count % plan_.group != 0) --plan_.group;
  }

  const LoopProgram& program_;
  const PerfectNest& nest_;
  const Target& target_;
  int64_t lanes_ = 0;
  std::vector<Access> reads_;  // operands
  std::vector<Access> moved_;  // those that n moves
  ContractPlan plan_;
};

}  // namespace

ContractPlan PlanContract(const LoopProgram& program, const PerfectNest& nest,
                          const Target& target) {
  return Planner(program, nest, target).Run();
}

int FindLaneLoop(const LoopProgram& program, const PerfectNest& nest) {
  for (size_t k = nest.outputs.size(); k-- > 0;) {
    if (nest.outputs[k].extent > 1 &&
        StrideOf(program, nest.set.target, nest.outputs[k].iterator) == 1) {
      return static_cast<int>(k);
    }
  }
  return -1;
}

}  // namespace ocannl
