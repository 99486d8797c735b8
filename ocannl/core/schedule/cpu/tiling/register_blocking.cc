// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/tiling/register_blocking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/index/division.h"

namespace ocannl {
namespace {

// To measure these:
// `bazel run //experiments:bench -- --filter=gemm,einsum,reduce`.

// ---- Cost -------------------------------------------------------------------

// Products of a step up to which the next step waits for some of them, as two
// start in each cycle.
constexpr double kFmaLatencyTimesPorts = 6;
// Cycles of a tile besides its steps: loads and stores of accumulators, and the
// branch that is mispredicted.
constexpr double kTileOverhead = 12;
// A sum of at most so many steps, as over the window of a pool, has no overhead
// where rows share no loads. The gradient of a 2 x 2 pool takes 0.5 of the time
// on tiles of 2 whole rows (`ocannl run net_cifar_conv.ll --profile`).
constexpr double kShortSum = 9;
// Where columns of B are transposed in registers, there are few chains, and a
// step takes at least as long as an fma.
constexpr double kFmaLatency = 4;
// Shuffles of a transposed vector of more than 8 lanes, and of another one; one
// starts in each cycle. Inserts, as products, start in pairs.
constexpr double kWideShuffles = 3;
constexpr double kShuffles = 2;
constexpr double kInserts = 1;
// What a load from L2 costs more than one from L1, a vector.
constexpr double kL2LoadCycles = 0.25;
// What a load across two cache lines costs more, a vector.
constexpr double kLineCrossingCycles = 0.2;
// Ways of a set of L1, in which lines at a distance of pages compete, and what
// the next line costs: a miss for each of them.
constexpr int64_t kL1Ways = 8;
constexpr double kL1MissCycles = 2;

// Whether the lines of `mr` rows that one iteration of k reads are still in L1
// when the next one reads on in them: lines at a distance of a page fall in the
// same set.
bool FitsInL1(const ContractShape::Operand& read, int64_t mr) {
  const int64_t distance = read.m * read.cell_bytes;
  return distance == 0 ||
         mr * std::gcd(distance, kPageBytes) <= kL1Ways * kPageBytes;
}

// Of one iteration of k of a tile with nr = `columns`, the columns of B being
// transposed in registers.
double TransposeCycles(const Target& target, double products, int64_t columns,
                       int64_t lanes) {
  const int64_t rest = columns % lanes;
  const bool is_wide = target.vector_bytes >= 64;
  double shuffles = static_cast<double>(columns / lanes) *
                    (is_wide ? kWideShuffles : kShuffles);
  if (rest > 0) shuffles += rest > 8 ? kWideShuffles : kShuffles;
  const double inserts =
      kInserts * static_cast<double>(CeilDiv(columns, lanes));
  return std::max({kFmaLatency, shuffles, (shuffles + inserts) / 2 + products});
}

// Whether all rows and all steps of a tile read the same of an operand.
bool IsLoadedOnce(const ContractShape::Operand& read) {
  return read.m == 0 && read.q == 0 &&
         absl::c_all_of(read.k, [](int64_t stride) { return stride == 0; });
}

// Whether there is an operand that all rows of a tile load at once.
bool RowsShareLoads(const ContractShape& shape) {
  return absl::c_any_of(shape.operands, [](const auto& read) {
    return read.m == 0 && !IsLoadedOnce(read);
  });
}

// Of one iteration of k of a tile of mr x qr x nr accumulators, nr = `columns`.
double StepCycles(const ContractShape& shape, const Target& target, int64_t mr,
                  int64_t qr, int64_t columns) {
  const int64_t vectors = CeilDiv(columns, shape.Lanes(target));
  int64_t loads = 0;
  int64_t n_loads = 0;  // those that depend on n
  int64_t misses = 0;   // of lines evicted from L1
  const bool shares_taps = shape.SharesTaps();
  for (const ContractShape::Operand& read : shape.operands) {
    if (IsLoadedOnce(read)) continue;
    const int64_t count = (read.m != 0 ? mr : 1) *
                          (read.q != 0 && !shares_taps ? qr : 1) *
                          (read.n != 0 ? vectors : 1);
    loads += count;
    if (read.n != 0) n_loads += count;
    if (!FitsInL1(read, mr)) misses += mr;
  }
  const double products = static_cast<double>(mr * qr * vectors) / 2;
  const double latency_bound = (products + kFmaLatencyTimesPorts) / 2;
  // Two loads issue in each cycle, at 90 % of the peak.
  const double issue_bound = 1.1 * static_cast<double>(loads) / 2;
  // Without q, half of L1 is for what m reads.
  const auto cache = static_cast<double>(target.l1_bytes);
  // Taps read one stream, which hardware prefetchers follow.
  const bool is_in_l1 =
      shares_taps ||
      shape.Steps() * static_cast<double>(n_loads * target.vector_bytes) <=
          (shape.has_q ? 3 * cache / 4 : cache / 2);
  const bool crosses_lines = shape.n % shape.Lanes(target) != 0;
  const double more = (is_in_l1 ? 0 : kL2LoadCycles) +
                      (crosses_lines ? kLineCrossingCycles : 0);
  const double transpose_bound =
      shape.TransposesInRegisters(target)
          ? TransposeCycles(target, products, columns, shape.Lanes(target))
          : 0;
  return std::max({products, latency_bound, issue_bound, transpose_bound}) +
         more * static_cast<double>(n_loads) +
         kL1MissCycles * static_cast<double>(misses);
}

// Of all tiles, with all iterations of k.
double TileCycles(const ContractShape& shape, const Target& target,
                  const RegisterBlocks& tiles) {
  double cycles = 0;
  // Short sums are straight-line code, and the processor overlaps tiles of it.
  const bool is_short = !RowsShareLoads(shape) && shape.Steps() <= kShortSum &&
                        shape.n % shape.Lanes(target) == 0;
  const double overhead = is_short ? 0 : kTileOverhead;
  for (const TileRange& m : tiles.m) {
    for (const TileRange& q : tiles.q) {
      for (const TileRange& n : tiles.n) {
        const int64_t vectors = CeilDiv(n.size, shape.Lanes(target));
        cycles +=
            static_cast<double>(m.count * q.count * n.count) *
            (shape.Steps() * StepCycles(shape, target, m.size, q.size, n.size) +
             overhead + static_cast<double>(m.size * q.size * vectors));
      }
    }
  }
  return cycles;
}

// ---- Choice -----------------------------------------------------------------

constexpr int64_t kMaxUnrolledBody = 384;  // products
// Vectors of n in a tile (nr / lanes), and ku of a matrix-vector product, whose
// loads are not reused.
constexpr int64_t kMaxVectorsPerRow = 4;
constexpr int64_t kMaxGemvUnroll = 16;
constexpr int64_t kMaxQTile = 6;
// ku of a product with taps. Whole rows of 16 take 1.05 of the time: `ocannl
// run net_resnet.ll --profile`, weight gradients of 3 x 3 convolutions.
constexpr int64_t kMaxTapUnroll = 4;
// Likewise, where B is transposed in registers: two vectors hide latency, and
// more rows of B would evict each other from L1. A step of 16 reads whole
// lines; shorter loops are unrolled whole. Lines that are prefetched would
// evict each other from L2 where more rows than it has ways fall in one set
// (`bazel run //experiments:bench -- --filter=rows1`: 512 x 32768).
constexpr int64_t kMaxTransposedVectors = 2;
constexpr int64_t kL2Ways = 16;
constexpr int64_t kTransposedUnroll = 16;
constexpr int64_t kMaxTransposedUnroll = 64;

// The other registers hold loads and temporaries of single instructions. A
// transposing copy has more values than registers: three more hold spilled
// ones.
int64_t MaxAccumulators(const ContractShape& shape, const Target& target,
                        int64_t vectors) {
  const int64_t all = target.vector_registers;
  // Of each vector of n, columns of half its lanes are alive at once.
  if (shape.TransposesInRegisters(target)) {
    return all - vectors * shape.Lanes(target) / 2 - 4;
  }
  const bool transposes = shape.b && shape.operands[*shape.b].n != 1;
  // One register holds a cell of A, and `vectors` hold what the taps share.
  if (shape.SharesTaps()) return std::min(all * 3 / 4, all - 1 - vectors);
  // Only AVX-512 has embedded broadcasts from memory; with q, what a row reads
  // is in a register.
  const int64_t others = 2 + (target.vector_bytes < 64 ? 1 : 0) +
                         (shape.has_q ? 1 : 0) + (transposes ? 3 : 0);
  return std::max(vectors, std::min(all * 3 / 4, all - others - vectors));
}

bool IsGemv(const ContractShape& shape, const Target& target) {
  const auto row = static_cast<double>(shape.n * shape.cell_bytes);
  return shape.m == 1 && shape.q == 1 &&
         shape.Steps() * row <= static_cast<double>(target.l2_bytes);
}

// The vectors of a row. Of a matrix-vector product, B streams from L2 fastest
// in long contiguous runs. A sum needs registers for nothing but accumulators.
int64_t MaxVectors(const ContractShape& shape, const Target& target) {
  if (shape.TransposesInRegisters(target)) {
    const ContractShape::Operand& b = shape.operands[*shape.b];
    const int64_t distance = std::gcd(b.n * b.cell_bytes, kL2SetPeriod);
    const int64_t rows = kL2Ways * kL2SetPeriod / distance;
    return std::clamp<int64_t>(rows / shape.Lanes(target), 1,
                               kMaxTransposedVectors);
  }
  if (!IsGemv(shape, target)) return kMaxVectorsPerRow;
  const bool sums_rows =
      shape.is_sum && shape.b && shape.operands[*shape.b].n == 1;
  return target.vector_registers / (sums_rows ? 1 : 2);
}

int64_t ProductsOf(const ContractShape& shape, const Target& target,
                   const RegisterBlocks& tiles) {
  return tiles.m[0].size * tiles.q[0].size *
         CeilDiv(tiles.n[0].size, shape.Lanes(target));
}

int64_t ChooseUnroll(const ContractShape& shape, const Target& target,
                     const RegisterBlocks& tiles) {
  if (shape.TransposesInRegisters(target)) {
    return shape.k.back() <= kMaxTransposedUnroll ? shape.k.back()
                                                  : kTransposedUnroll;
  }
  if (shape.SharesTaps()) return std::min(shape.k.back(), kMaxTapUnroll);
  const int64_t products = ProductsOf(shape, target, tiles);
  const int64_t unroll =
      std::clamp<int64_t>(kMaxUnrolledBody / products, 1, shape.k.back());
  if (unroll == shape.k.back()) return unroll;
  return std::min(unroll, IsGemv(shape, target) ? kMaxGemvUnroll : kMaxUnroll);
}

// The taps of a small window, around which a loop over channels runs, are one
// body (`bazel run //experiments:bench -- --filter=net/cifar_conv`).
size_t ChooseWholeLoops(const ContractShape& shape, const Target& target,
                        const RegisterBlocks& tiles) {
  size_t loops = 0;
  if (tiles.unroll < shape.k.back() || shape.TransposesInRegisters(target)) {
    return loops;
  }
  int64_t body = ProductsOf(shape, target, tiles) * shape.k.back();
  for (size_t k = shape.k.size() - 1; k-- > 0; ++loops) {
    body *= shape.k[k];
    if (body > kMaxUnrolledBody) break;
  }
  return loops;
}

}  // namespace

RegisterBlocks BlockForRegisters(const ContractShape& shape,
                                 const Target& target) {
  RegisterBlocks best{.cycles = INFINITY};
  int64_t best_vectors = 0;
  const int64_t max_vectors = MaxVectors(shape, target);
  // Of tiles that take as long, the widest is best. Wide tiles of taps share
  // more loads. Whole rows that share nothing are streams, which hardware
  // prefetchers follow.
  const bool shares_taps = shape.SharesTaps();
  const bool shares_none = !RowsShareLoads(shape);
  const int64_t least_qr = shares_taps ? std::min<int64_t>(shape.q, 2) : 1;
  for (int64_t qr = std::min(shape.q, kMaxQTile); qr >= least_qr; --qr) {
    for (int64_t vectors = 1; vectors <= max_vectors; ++vectors) {
      const int64_t wide = qr * vectors;
      // Accumulators of one row would spill.
      if (qr > 1 && wide > target.vector_registers * 3 / 4) continue;
      const int64_t most = MaxAccumulators(shape, target, wide) / wide;
      for (int64_t mr = 1; mr <= most; ++mr) {
        RegisterBlocks tiles{
            .m = BalancedTiles(shape.m, mr),
            .q = BalancedTiles(shape.q, qr),
            .n = TilesWithRemainder(shape.n, vectors * shape.Lanes(target))};
        tiles.cycles = TileCycles(shape, target, tiles);
        const bool wins_ties =
            shares_taps || (shares_none && vectors > best_vectors &&
                            shape.n % tiles.n[0].size == 0);
        if (tiles.cycles < best.cycles ||
            (wins_ties && tiles.cycles == best.cycles)) {
          best = std::move(tiles);
          best_vectors = vectors;
        }
      }
    }
  }
  best.unroll = ChooseUnroll(shape, target, best);
  best.whole_loops = ChooseWholeLoops(shape, target, best);
  return best;
}

}  // namespace ocannl
