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

// To measure these:
// `bazel run //experiments:bench -- --filter=gemm,einsum,reduce`.

constexpr int64_t kCacheLine = 64;  // bytes
// kc where B streams from memory unpacked: so many rows of B run before the
// next panel, by when the hardware prefetcher follows each of them, and what a
// tile reads stays in L1. Smaller for a matrix-vector product (m = 1), which
// stores and loads fewer accumulators; 1 where rows are short, so that B is
// read without gaps.
constexpr int64_t kStreamKBlock = 32;
constexpr int64_t kGemvKBlock = 8;
// Iterations of k after which strided stores of the target are amortized.
constexpr double kMinReductionForStridedStores = 64;
// Tiles of n that amortize packing A, which takes about as long as one tile.
constexpr int64_t kMinTilesToPackA = 6;
// Products of an unrolled loop body, and ku where the loop goes on.
constexpr int64_t kMaxUnrolledBody = 384;
constexpr int64_t kMaxUnroll = 8;
// Vectors of n in a tile (nr / lanes), and ku of a matrix-vector product, whose
// loads are not reused.
constexpr int64_t kMaxVectorsPerRow = 4;
constexpr int64_t kMaxGemvUnroll = 16;
// B is packed, so that the panel of a tile is contiguous, where so many tiles
// of m read it: fewer where B takes half of L2, more where it fits but its rows
// have conflict misses, as they fall in half of the sets.
constexpr int64_t kMinTilesToPackLarge = 4;
constexpr int64_t kMinTilesToPackConflicting = 16;
constexpr int64_t kL2SetPeriod = 64 * 1024;  // bytes that fall in one set
constexpr int64_t kMaxQTile = 6;

// Passes and steps of a block of k that amortize storing its accumulators.
constexpr double kMinPassesPerKBlock = 4;
constexpr double kMinStepsPerKBlock = 32;

class Planner {
 public:
  Planner(const LoopProgram& program, const PerfectNest& nest,
          const Target& target)
      : program_(program), nest_(nest), target_(target) {}

  ContractPlan Run() {
    lanes_ = target_.vector_bytes / SizeOfCell(nest_.set.target);
    reads_ = OperandsOf(program_, nest_);
    const int lane_loop = ChooseLaneLoop();
    plan_.n = lane_loop < 0 ? NestLoop{.iterator = {}, .extent = 1}
                            : nest_.outputs[lane_loop];
    for (const Access& read : reads_) {
      if (Stride(read, plan_.n) != 0) n_operands_.push_back(read);
    }
    ChooseTileLoops(lane_loop);
    ChooseTile();
    if (!BlockKOutsideTiles()) {
      ChoosePackingOfB();
      ChoosePackingOfA();
      ChooseKBlocks();
    }
    ChoosePanelsPerBlock();
    return std::move(plan_);
  }

 private:
  int64_t Stride(const Access& access, const NestLoop& loop) const {
    return StrideOf(program_, access, loop.iterator);
  }

  // n: the loop that has unit stride in the target. Where that is short, a loop
  // that fills vectors: in the place of two iterations, one of stride 2, whose
  // lanes back ends load and store deinterleaved; or, where k amortizes strided
  // stores, one that has unit stride in the operands.
  int ChooseLaneLoop() const {
    const int contiguous = FindLaneLoop(program_, nest_);
    if (contiguous < 0) return contiguous;
    const int64_t few = nest_.outputs[contiguous].extent;
    const bool are_pairs = few == 2 && SizeOfCell(nest_.set.target) == 4;
    const bool are_long =
        few * 2 <= lanes_ &&
        Iterations(nest_.reduced) >= kMinReductionForStridedStores;
    for (size_t k = 0; k < nest_.outputs.size(); ++k) {
      const NestLoop& loop = nest_.outputs[k];
      if (loop.extent % lanes_ != 0) continue;
      if ((are_pairs && Stride(nest_.set.target, loop) == 2) ||
          (are_long && HasUnitStrideOperands(loop))) {
        return static_cast<int>(k);
      }
    }
    return contiguous;
  }

  // Whether all operands that depend on `loop` have unit stride along it, and
  // there is one.
  bool HasUnitStrideOperands(const NestLoop& loop) const {
    bool any = false;
    for (const Access& read : reads_) {
      const int64_t stride = Stride(read, loop);
      if (stride != 0 && stride != 1) return false;
      any |= stride == 1;
    }
    return any;
  }

  // How many operands depend on n and on `loop`.
  int64_t NumOperandsAlong(const NestLoop& loop) const {
    return absl::c_count_if(n_operands_, [&](const Access& read) {
      return Stride(read, loop) != 0;
    });
  }

  bool ShareAnOperand(const NestLoop& a, const NestLoop& b) const {
    return absl::c_any_of(n_operands_, [&](const Access& read) {
      return Stride(read, a) != 0 && Stride(read, b) != 0;
    });
  }

  // Whether the operands that depend on `loop` are those that depend on n.
  bool DependsOnSameOperandsAsN(const NestLoop& loop) const {
    return absl::c_all_of(reads_, [&](const Access& read) {
      return (Stride(read, loop) != 0) == (Stride(read, plan_.n) != 0);
    });
  }

  // The stride of the innermost reduced loop in the operands of n that depend
  // on `loop`.
  int64_t ReductionStride(const NestLoop& loop) const {
    int64_t step = 0;
    for (const Access& read : n_operands_) {
      if (Stride(read, loop) == 0) continue;
      step = std::max(step, std::abs(Stride(read, nest_.reduced.back())));
    }
    return step;
  }

  // m: the innermost output loop on which fewest operands of n depend, so that
  // rows share their loads. q: a loop on which other operands depend than on m,
  // or one like n where n is narrower than a vector. What m reads stays in L1
  // while all tiles of q run: m is that of the two with the shorter stride
  // along k.
  void ChooseTileLoops(int lane_loop) {
    std::vector<NestLoop> loops = nest_.outputs;
    if (lane_loop >= 0) loops.erase(loops.begin() + lane_loop);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const NestLoop& loop : loops) {
      const int64_t count = NumOperandsAlong(loop);
      if (n_operands_.empty() || count > least) continue;
      if (count > 0 && n_operands_.size() == 1) continue;
      least = count;
      plan_.m = loop;
    }
    const bool is_narrow = least == 0 && plan_.n.extent <= lanes_ &&
                           Stride(n_operands_[0], plan_.n) == 1;
    for (const NestLoop& loop : loops) {
      const bool is_q = is_narrow ? DependsOnSameOperandsAsN(loop) : least > 0;
      if (plan_.m && is_q && !ShareAnOperand(*plan_.m, loop)) plan_.q = loop;
    }
    if (plan_.q && ReductionStride(*plan_.q) < ReductionStride(*plan_.m)) {
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

  // The other registers hold loads and temporaries of single instructions. A
  // transposing copy has more values than registers: three more hold spilled
  // ones.
  int64_t MaxAccumulators(int64_t vectors) const {
    const bool transposes =
        n_operands_.size() == 1 && Stride(n_operands_[0], plan_.n) != 1;
    // Only AVX-512 has embedded broadcasts from memory; with q, what a row
    // reads is in a register.
    const int64_t others = 2 + (target_.vector_bytes < 64 ? 1 : 0) +
                           (plan_.q ? 1 : 0) + (transposes ? 3 : 0);
    const int64_t all = target_.vector_registers;
    return std::max(vectors, std::min(all * 3 / 4, all - others - vectors));
  }

  // The vectors of a row of a matrix-vector product: B streams from L2 fastest
  // in long contiguous runs. A sum needs registers for nothing but
  // accumulators.
  int64_t MaxGemvVectors() const {
    const auto* sum = std::get_if<Apply>(&program_.exprs[nest_.set.value]);
    bool is_sum = sum != nullptr && sum->op == Op::kAdd &&
                  n_operands_.size() == 1 &&
                  Stride(n_operands_[0], plan_.n) == 1;
    for (int k = 0; is_sum && k < 2; ++k) {
      is_sum = std::holds_alternative<Leaf>(program_.exprs[sum->args[k]]);
    }
    return target_.vector_registers / (is_sum ? 1 : 2);
  }

  double L2Bytes() const { return static_cast<double>(target_.l2_bytes); }

  // Of k x n elements as large as that of `access`.
  double BytesOfB(const Access& access) const {
    return Iterations(nest_.reduced) *
           static_cast<double>(plan_.n.extent * SizeOfCell(access));
  }

  void ChooseTile() {
    const int64_t m = plan_.m ? plan_.m->extent : 1;
    const int64_t q = plan_.q ? plan_.q->extent : 1;
    const TileCost cost(program_, nest_, target_,
                        {.m = plan_.m, .q = plan_.q, .n = plan_.n});
    const bool is_gemv =
        m == 1 && q == 1 && BytesOfB(nest_.set.target) <= L2Bytes();
    const int64_t max_vectors = is_gemv ? MaxGemvVectors() : kMaxVectorsPerRow;
    double least = INFINITY;
    for (int64_t deep = std::min(q, kMaxQTile); deep > 0; --deep) {
      for (int64_t vectors = 1; vectors <= max_vectors; ++vectors) {
        const int64_t wide = deep * vectors;
        const int64_t most = MaxAccumulators(wide) / wide;
        for (int64_t high = 1; high <= most; ++high) {
          std::vector<TileRange> m_tiles = BalancedTiles(m, high);
          std::vector<TileRange> q_tiles = BalancedTiles(q, deep);
          std::vector<TileRange> n_tiles =
              TilesWithRemainder(plan_.n.extent, vectors * lanes_);
          const double cycles = cost.Cycles(m_tiles, q_tiles, n_tiles);
          if (cycles >= least) continue;
          least = cycles;
          plan_.m_tiles = std::move(m_tiles);
          plan_.q_tiles = std::move(q_tiles);
          plan_.n_tiles = std::move(n_tiles);
        }
      }
    }
    const TileRange& tile = plan_.m_tiles[0];
    const int64_t products = tile.size * plan_.q_tiles[0].size *
                             CeilDiv(plan_.n_tiles[0].size, lanes_);
    plan_.unroll = std::clamp<int64_t>(kMaxUnrolledBody / products, 1,
                                       nest_.reduced.back().extent);
    if (plan_.unroll < nest_.reduced.back().extent) {
      plan_.unroll =
          std::min(plan_.unroll, is_gemv ? kMaxGemvUnroll : kMaxUnroll);
    }
    plan_.is_parallel = least * Iterations(plan_.outer) > kMinParallelCycles;
  }

  // Blocks of k outside of all tiles, where many iterations of the outer loops
  // and tiles read operands that do not fit in L2: what a block reads does.
  bool BlockKOutsideTiles() {
    if (plan_.outer.empty() || plan_.q || n_operands_.size() != 1) return false;
    if (Stride(n_operands_[0], plan_.n) != 1) return false;
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
    const auto most = static_cast<int64_t>(L2Bytes() / 2 / bytes * all);
    const double passes = Iterations(plan_.outer) /
                          static_cast<double>(plan_.outer[0].extent) *
                          static_cast<double>(plan_.m_tiles[0].count);
    const bool are_long =
        Iterations(nest_.reduced) / all * static_cast<double>(most) >=
        kMinStepsPerKBlock;
    if (most < 1 || most * 2 > extent || passes < kMinPassesPerKBlock ||
        !are_long) {
      return false;
    }
    plan_.k_blocks = TilesWithRemainder(extent, most);
    plan_.k_blocks_outside_tiles = true;
    return true;
  }

  // Whether the rows that a tile reads fall in so few sets of L2 that they
  // evict each other: gcd of their distances and the period of the sets.
  bool HasConflictMisses(const Access& operand) const {
    int64_t distance = kL2SetPeriod;
    for (const NestLoop& loop : nest_.reduced) {
      distance =
          std::gcd(distance, Stride(operand, loop) * SizeOfCell(operand));
    }
    return Iterations(nest_.reduced) * static_cast<double>(distance) >=
           L2Bytes() / 2;
  }

  void ChoosePackingOfB() {
    if (plan_.q || n_operands_.size() != 1) return;
    const Access& operand = n_operands_[0];
    if (std::get_if<Leaf>(&program_.exprs[nest_.set.value]) != nullptr) return;
    int64_t row_tiles = 0;
    for (const TileRange& rows : plan_.m_tiles) row_tiles += rows.count;
    const double bytes = BytesOfB(operand);
    const bool contiguous = Stride(operand, plan_.n) == 1;
    const bool reads_k = absl::c_any_of(nest_.reduced, [&](const NestLoop& k) {
      return Stride(operand, k) != 0;
    });
    if (!reads_k) return;
    const bool is_far = bytes > L2Bytes() / 2;
    const int64_t tiles =
        is_far ? kMinTilesToPackLarge : kMinTilesToPackConflicting;
    if (contiguous &&
        (row_tiles < tiles || !(is_far || HasConflictMisses(operand)))) {
      return;
    }
    plan_.packed_b = operand;
    plan_.b_needs_transpose = !contiguous;
  }

  // Of m x k elements.
  double BytesOfA() const {
    return Iterations(nest_.reduced) *
           static_cast<double>((plan_.m ? plan_.m->extent : 1) *
                               SizeOfCell(nest_.set.target));
  }

  // A is packed where each iteration of k reads another cache line of it, most
  // lines miss L2, and many tiles of n reuse them.
  void ChoosePackingOfA() {
    if (!plan_.m || plan_.n_tiles[0].count < kMinTilesToPackA) return;
    if (BytesOfA() <= 3 * L2Bytes() / 8) return;
    std::vector<Access> rows;
    for (const Access& read : reads_) {
      if (Stride(read, *plan_.m) != 0) rows.push_back(read);
    }
    if (rows.size() != 1 || Stride(rows[0], plan_.n) != 0) return;
    const int64_t step = Stride(rows[0], nest_.reduced.back());
    if (std::abs(step) * SizeOfCell(rows[0]) < kCacheLine) return;
    plan_.packed_a = rows[0];
  }

  // Of a packed panel with kc = `steps`.
  double PanelBytes(int64_t steps) const {
    const auto all = static_cast<double>(nest_.reduced[0].extent);
    return Iterations(nest_.reduced) / all * static_cast<double>(steps) *
           static_cast<double>(plan_.n_tiles[0].size *
                               SizeOfCell(*plan_.packed_b));
  }

  // Whether B is read unpacked, a short run of each long row, and does not fit
  // in L2.
  bool StridesAcrossPages() const {
    if (plan_.packed_b || plan_.q || n_operands_.size() != 1 ||
        nest_.reduced.size() != 1) {
      return false;
    }
    const int64_t step = std::abs(Stride(n_operands_[0], nest_.reduced[0])) *
                         SizeOfCell(n_operands_[0]);
    return Stride(n_operands_[0], plan_.n) == 1 &&
           step > plan_.n_tiles[0].size * SizeOfCell(n_operands_[0]) &&
           step * nest_.reduced[0].extent > target_.l2_bytes;
  }

  // kc where StridesAcrossPages().
  int64_t StreamingKBlock() const {
    if (plan_.m && plan_.m->extent > 1) return kStreamKBlock;
    return plan_.n.extent * SizeOfCell(n_operands_[0]) <= kPageBytes
               ? 1
               : kGemvKBlock;
  }

  // Blocks k where a panel takes more than an eighth of L2: into long blocks,
  // as each costs another pass over the target.
  void ChooseKBlocks() {
    const int64_t extent = nest_.reduced[0].extent;
    plan_.k_blocks = {{0, 1, extent}};
    if (StridesAcrossPages())
      plan_.k_blocks = TilesWithRemainder(extent, StreamingKBlock());
    if (!plan_.packed_b || plan_.n_tiles[0].count == 1) return;
    const double cache = L2Bytes();
    const auto most = static_cast<int64_t>(cache / 8 / PanelBytes(1));
    if (extent <= most) return;
    const int64_t count = CeilDiv(extent, std::max<int64_t>(most, 1));
    // Multiples of ku, but for the last block.
    const int64_t ku =
        nest_.reduced.size() == 1 ? std::min(plan_.unroll, kMaxUnroll) : 1;
    plan_.k_blocks =
        TilesWithRemainder(extent, CeilDiv(extent, count * ku) * ku);
  }

  // Where A does not stay in L2, as many panels of B as fit; where only the
  // target does not, all of them, so that it is written row by row.
  void ChoosePanelsPerBlock() {
    const double cache = L2Bytes();
    const int64_t count = plan_.n_tiles[0].count;
    const auto cells = static_cast<double>(
        NumElements(program_.buffers[nest_.set.target.buffer].dims));
    const double row =
        static_cast<double>(plan_.n.extent * SizeOfCell(nest_.set.target));
    if (cells * static_cast<double>(SizeOfCell(nest_.set.target)) > cache &&
        plan_.outer.empty() && Iterations(nest_.reduced) * row <= cache / 4) {
      plan_.panels_per_block = count;
    }
    double fit = 0;
    int64_t most = count / target_.threads;
    if (StridesAcrossPages()) {
      // Memory is shared: two threads read as fast as more would, and one does
      // where it reads without a gap.
      most = StreamingKBlock() == 1 ? count : count / 2;
      fit = static_cast<double>(kPageBytes) /
            static_cast<double>(plan_.n_tiles[0].size *
                                SizeOfCell(n_operands_[0]));
    } else if (plan_.packed_b && BytesOfA() > cache / 4) {
      fit = 3 * cache / 8 / PanelBytes(plan_.k_blocks[0].size);
    } else {
      return;
    }
    plan_.panels_per_block = std::clamp<int64_t>(static_cast<int64_t>(fit), 1,
                                                 std::max<int64_t>(most, 1));
    while (count % plan_.panels_per_block != 0) --plan_.panels_per_block;
  }

  const LoopProgram& program_;
  const PerfectNest& nest_;
  const Target& target_;
  int64_t lanes_ = 0;
  std::vector<Access> reads_;       // operands
  std::vector<Access> n_operands_;  // those that depend on n
  ContractPlan plan_;
};

}  // namespace

ContractPlan PlanContract(const LoopProgram& program, const PerfectNest& nest,
                          const Target& target) {
  return Planner(program, nest, target).Run();
}

}  // namespace ocannl
