// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/tiling/cache_blocking.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "absl/algorithm/container.h"
#include "ocannl/core/index/division.h"

namespace ocannl {
namespace {

using Operand = ContractShape::Operand;

// To measure these: `bazel run //experiments:bench -- --filter=gemm,einsum`.

constexpr int64_t kCacheLine = 64;  // bytes
// kc where B streams from memory unpacked: so many rows of B run before the
// next panel, by when the hardware prefetcher follows each of them, and what a
// tile reads stays in L1. Smaller for a matrix-vector product (m = 1), which
// stores and loads fewer accumulators; 1 where rows are short, so that B is
// read without gaps.
constexpr int64_t kStreamKBlock = 32;
constexpr int64_t kGemvKBlock = 8;
// Tiles of n that amortize packing A, which takes about as long as one tile;
// fewer where its lines evict each other from L1, as iterations of k are so far
// apart. By `bazel run //experiments:gpt2_mini -- --profile`, attention's
// gradients of values and keys take 0.65 and 0.74 of the time then.
constexpr int64_t kMinTilesToPackA = 6;
constexpr int64_t kMinTilesToPackConflictingA = 2;
constexpr int64_t kFarStepBytes = 1024;
// B is packed, so that the panel of a tile is contiguous, where so many tiles
// of m read it: fewer where B takes half of L2, more where it fits but its rows
// have conflict misses, as they fall in half of the sets.
constexpr int64_t kMinTilesToPackLarge = 4;
constexpr int64_t kMinTilesToPackConflicting = 16;
// Shorter rows of a target that does not stay in L2 gain nothing from blocks of
// panels: `ocannl run product.ll --time` of 4 x 256 rows, 256 steps and 256,
// 512 and 1024 columns takes 1.00, 0.93 and 0.87 of the time of single panels.
// Where a cell has few terms, storing it takes a larger part: 256 columns of 64
// steps take 0.94 to 1.00, and 0.90 with an epilogue that reads as many.
constexpr int64_t kLongRowBytes = 2048;
constexpr int64_t kRowBytesOfShortSums = 1024;
constexpr double kMaxShortSum = 64;
// Passes and steps of a block of k that amortize storing its accumulators.
constexpr double kMinPassesPerKBlock = 4;
constexpr double kMinStepsPerKBlock = 32;

double L2Bytes(const Target& target) {
  return static_cast<double>(target.l2_bytes);
}

// The only operand that depends on n, if no tile of q shares it; else null.
const Operand* OnlyB(const ContractShape& shape) {
  return shape.has_q || !shape.b ? nullptr : &shape.operands[*shape.b];
}

// kc of blocks of k outside of all tiles, so that what a block reads fits in
// L2, where many iterations of the outer loops and tiles read operands that do
// not; 0: none.
int64_t KBlockOutsideTiles(const ContractShape& shape,
                           const RegisterBlocks& tiles, const Target& target) {
  const Operand* const b = OnlyB(shape);
  if (shape.outer.empty() || b == nullptr || b->n != 1) return 0;
  double bytes = 0;
  for (const Operand& read : shape.operands) {
    if (read.k[0] == 0) return 0;
    auto cells = static_cast<double>(read.cell_bytes);
    for (size_t k = 0; k < shape.k.size(); ++k) {
      if (read.k[k] != 0) cells *= static_cast<double>(shape.k[k]);
    }
    if (read.n != 0) cells *= static_cast<double>(shape.n);
    if (read.m != 0) cells *= static_cast<double>(shape.m);
    bytes += cells;
  }
  const auto all = static_cast<double>(shape.k[0]);
  const auto most = static_cast<int64_t>(L2Bytes(target) / 2 / bytes * all);
  double passes = static_cast<double>(tiles.m[0].count);
  for (size_t k = 1; k < shape.outer.size(); ++k) {
    passes *= static_cast<double>(shape.outer[k]);
  }
  const bool are_long =
      shape.Steps() / all * static_cast<double>(most) >= kMinStepsPerKBlock;
  return most >= 1 && most * 2 <= shape.k[0] && passes >= kMinPassesPerKBlock &&
                 are_long
             ? most
             : 0;
}

// Whether the rows that a tile reads fall in so few sets of L2 that they evict
// each other: gcd of their distances and the period of the sets.
bool HasConflictMisses(const ContractShape& shape, const Operand& operand,
                       const Target& target) {
  int64_t distance = kL2SetPeriod;
  for (int64_t stride : operand.k) {
    distance = std::gcd(distance, stride * operand.cell_bytes);
  }
  return shape.Steps() * static_cast<double>(distance) >= L2Bytes(target) / 2;
}

bool PacksB(const ContractShape& shape, const RegisterBlocks& tiles,
            const Target& target) {
  const Operand* const b = OnlyB(shape);
  if (b == nullptr || shape.is_copy || shape.TransposesInRegisters(target)) {
    return false;
  }
  if (absl::c_all_of(b->k, [](int64_t stride) { return stride == 0; })) {
    return false;
  }
  if (b->n != 1) return true;
  int64_t m_tiles = 0;
  for (const TileRange& rows : tiles.m) m_tiles += rows.count;
  const double bytes =
      shape.Steps() * static_cast<double>(shape.n * b->cell_bytes);
  const bool is_far = bytes > L2Bytes(target) / 2;
  return m_tiles >=
             (is_far ? kMinTilesToPackLarge : kMinTilesToPackConflicting) &&
         (is_far || HasConflictMisses(shape, *b, target));
}

// Of m x k elements.
double BytesOfA(const ContractShape& shape) {
  return shape.Steps() * static_cast<double>(shape.m * shape.cell_bytes);
}

// Between the cells that consecutive iterations of k read.
int64_t StepBytes(const Operand& operand) {
  return std::abs(operand.k.back()) * operand.cell_bytes;
}

// Whether the iterations of k read lines of A that evict each other from L1
// before the next tile of n or m reads them, and m is contiguous in them.
bool EvictsFromL1(const ContractShape& shape, const Operand& a,
                  const Target& target) {
  const int64_t step = StepBytes(a);
  const auto distance = static_cast<double>(std::gcd(step, kPageBytes));
  return a.m == 1 && step >= kFarStepBytes &&
         shape.Steps() * distance > static_cast<double>(target.l1_bytes);
}

// A is packed where each iteration of k reads another cache line of it, and
// tiles of n reuse them: many, if most lines miss L2, or some, if they miss L1.
std::optional<size_t> PackedA(const ContractShape& shape,
                              const RegisterBlocks& tiles,
                              const Target& target) {
  if (tiles.n[0].count < kMinTilesToPackConflictingA) return std::nullopt;
  std::optional<size_t> a;
  for (size_t k = 0; k < shape.operands.size(); ++k) {
    if (shape.operands[k].m == 0) continue;
    if (a) return std::nullopt;
    a = k;
  }
  if (!a || shape.operands[*a].n != 0) return std::nullopt;
  const Operand& operand = shape.operands[*a];
  const bool is_far = tiles.n[0].count >= kMinTilesToPackA &&
                      BytesOfA(shape) > 3 * L2Bytes(target) / 8;
  return StepBytes(operand) >= kCacheLine &&
                 (is_far || EvictsFromL1(shape, operand, target))
             ? a
             : std::nullopt;
}

// Of a packed panel of B with kc = `steps`.
double PanelBytes(const ContractShape& shape, const RegisterBlocks& tiles,
                  const Operand& b, int64_t steps) {
  const auto all = static_cast<double>(shape.k[0]);
  return shape.Steps() / all * static_cast<double>(steps) *
         static_cast<double>(tiles.n[0].size * b.cell_bytes);
}

// B, if it is not packed, but read a short run of each long row, and does not
// fit in L2; else null.
const Operand* StreamedB(const ContractShape& shape,
                         const RegisterBlocks& tiles, const Target& target,
                         const CacheBlocks& blocks) {
  const Operand* const b = OnlyB(shape);
  if (blocks.packed_b || b == nullptr || shape.k.size() != 1) return nullptr;
  const int64_t step = std::abs(b->k[0]) * b->cell_bytes;
  const bool strides_across_pages = b->n == 1 &&
                                    step > tiles.n[0].size * b->cell_bytes &&
                                    step * shape.k[0] > target.l2_bytes;
  return strides_across_pages ? b : nullptr;
}

// kc of StreamedB.
int64_t StreamingKBlock(const ContractShape& shape, const Operand& b) {
  if (shape.m > 1) return kStreamKBlock;
  return shape.n * b.cell_bytes <= kPageBytes ? 1 : kGemvKBlock;
}

// Blocks k where a panel takes more than an eighth of L2: into long blocks, as
// each costs another pass over the target.
std::vector<TileRange> KBlocks(const ContractShape& shape,
                               const RegisterBlocks& tiles,
                               const Target& target,
                               const CacheBlocks& blocks) {
  const int64_t extent = shape.k[0];
  if (const Operand* b = StreamedB(shape, tiles, target, blocks)) {
    return TilesWithRemainder(extent, StreamingKBlock(shape, *b));
  }
  const std::vector<TileRange> one = {{0, 1, extent}};
  if (!blocks.packed_b || tiles.n[0].count == 1) return one;
  const Operand& b = shape.operands[*blocks.packed_b];
  const auto most = static_cast<int64_t>(L2Bytes(target) / 8 /
                                         PanelBytes(shape, tiles, b, 1));
  if (extent <= most) return one;
  const int64_t count = CeilDiv(extent, std::max<int64_t>(most, 1));
  // Multiples of ku, but for the last block.
  const int64_t ku =
      shape.k.size() == 1 ? std::min(tiles.unroll, kMaxUnroll) : 1;
  return TilesWithRemainder(extent, CeilDiv(extent, count * ku) * ku);
}

// Whether the target does not stay in L2.
bool IsTargetFar(const ContractShape& shape, const Target& target) {
  return static_cast<double>(shape.target_cells) *
             static_cast<double>(shape.cell_bytes) >
         L2Bytes(target);
}

// Whether a block of several panels pays for such a target: it is written in
// long runs, and what a tile reads of A stays in L1 while they run.
bool PaysToWriteRows(const ContractShape& shape, const RegisterBlocks& tiles,
                     const Target& target) {
  const double a = BytesOfA(shape) / static_cast<double>(shape.m) *
                   static_cast<double>(tiles.m[0].size);
  const int64_t least =
      shape.Steps() <= kMaxShortSum ? kRowBytesOfShortSums : kLongRowBytes;
  return shape.n * shape.cell_bytes >= least &&
         a <= static_cast<double>(target.l1_bytes) / 2;
}

// Where A does not stay in L2, or a target of long rows does not, as many
// panels of B as fit; where only the target does not, and B takes little, all
// of them. The target is then written along rows, and an epilogue reads along
// rows too. A single panel touches a few cache lines of each row, and
// prefetchers follow none of them.
int64_t PanelsPerBlock(const ContractShape& shape, const RegisterBlocks& tiles,
                       const Target& target, const CacheBlocks& blocks) {
  const double cache = L2Bytes(target);
  const int64_t count = tiles.n[0].count;
  const auto row = static_cast<double>(shape.n * shape.cell_bytes);
  const bool is_a_far = blocks.packed_b && BytesOfA(shape) > cache / 4;
  double fit = 0;
  int64_t most = count / target.threads;
  if (const Operand* b = StreamedB(shape, tiles, target, blocks)) {
    // Memory is shared: two threads read as fast as more would, and one does
    // where it reads without a gap.
    most = StreamingKBlock(shape, *b) == 1 ? count : count / 2;
    fit = static_cast<double>(kPageBytes) /
          static_cast<double>(tiles.n[0].size * b->cell_bytes);
  } else {
    const bool is_far = !is_a_far && IsTargetFar(shape, target);
    if (is_far && shape.outer.empty() && shape.Steps() * row <= cache / 4) {
      return count;
    }
    const bool blocks_rows =
        is_far && blocks.packed_b && PaysToWriteRows(shape, tiles, target);
    if (!is_a_far && !blocks_rows) return 1;
    if (blocks_rows && !shape.outer.empty())
      most = count;  // these are parallel
    fit = 3 * cache / 8 /
          PanelBytes(shape, tiles, shape.operands[*blocks.packed_b],
                     blocks.k[0].size);
  }
  auto panels = std::clamp<int64_t>(static_cast<int64_t>(fit), 1,
                                    std::max<int64_t>(most, 1));
  while (count % panels != 0) --panels;
  return panels;
}

}  // namespace

CacheBlocks BlockForCaches(const ContractShape& shape,
                           const RegisterBlocks& tiles, const Target& target) {
  CacheBlocks blocks;
  if (const int64_t kc = KBlockOutsideTiles(shape, tiles, target)) {
    blocks.k = TilesWithRemainder(shape.k[0], kc);
    blocks.k_outside_tiles = true;
  } else {
    if (PacksB(shape, tiles, target)) blocks.packed_b = shape.b;
    blocks.packed_a = PackedA(shape, tiles, target);
    blocks.k = KBlocks(shape, tiles, target, blocks);
  }
  blocks.panels = PanelsPerBlock(shape, tiles, target, blocks);
  return blocks;
}

}  // namespace ocannl
