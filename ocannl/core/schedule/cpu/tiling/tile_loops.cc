// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/tiling/tile_loops.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/index/division.h"

namespace ocannl {
namespace {

// Iterations of k after which strided stores of the target are amortized
// (`bazel run //experiments:bench -- --filter=einsum`).
constexpr double kMinReductionForStridedStores = 64;

// Vectors of n that are enough independent chains of sums
// (`bazel run //experiments:bench -- --filter=einsum`).
constexpr int64_t kLongRow = 8;

// Accumulators that hide the latency of a product: two start in each cycle, and
// one takes four (`bazel run //experiments:bench -- --filter=net/`).
constexpr int64_t kEnoughAccumulators = 8;

// Most rows that are lanes where B would be transposed otherwise. `ocannl run
// product.ll --time` of 16 x 384 times the transpose of 384 x 384 takes 0.74 of
// the time, and of 32 x 384 and 1536 x 384 1.10. Sums of so many terms amortize
// strided stores of the target.
constexpr int64_t kMaxRowsAsLanes = 16;
constexpr double kMinReductionForRowsAsLanes = 128;

class LoopChooser {
 public:
  LoopChooser(const LoopProgram& program, const PerfectNest& nest,
              absl::Span<const Access> operands, const Target& target)
      : program_(program),
        nest_(nest),
        lanes_(target.vector_bytes / SizeOfCell(program, nest.set.target)),
        reads_(operands) {}

  TileLoops Run() {
    std::vector<NestLoop> loops = nest_.outputs;
    const int lanes = LaneLoop();
    chosen_.n = {.iterator = {}, .extent = 1};
    if (lanes >= 0) {
      chosen_.n = loops[lanes];
      loops.erase(loops.begin() + lanes);
    }
    for (const Access& read : reads_) {
      if (Stride(read, chosen_.n) != 0) n_operands_.push_back(read);
    }
    ChooseUnrolled(loops);
    for (const NestLoop& loop : loops) {
      auto is = [&](const std::optional<NestLoop>& other) {
        return other && other->iterator == loop.iterator;
      };
      if (!is(chosen_.m) && !is(chosen_.q)) chosen_.outer.push_back(loop);
    }
    // What is read in one iteration of these is not read in the next.
    std::stable_partition(
        chosen_.outer.begin(), chosen_.outer.end(), [&](const NestLoop& loop) {
          return absl::c_all_of(reads_, [&](const Access& read) {
            return Stride(read, loop) != 0;
          });
        });
    return std::move(chosen_);
  }

 private:
  int64_t Stride(const Access& access, const NestLoop& loop) const {
    return StrideOf(program_, access, loop.iterator);
  }

  // n: the loop that has unit stride in the target. Where that is short, a loop
  // that fills vectors: in the place of two iterations, one of stride 2, whose
  // lanes back ends load and store deinterleaved; or, where k amortizes strided
  // stores, one that has unit stride in the operands. Or few rows, where what
  // depends on n needs a transposed copy, and what depends on them is smaller.
  int LaneLoop() const {
    const int contiguous = FindLaneLoop(program_, nest_);
    if (contiguous < 0) return contiguous;
    const int64_t few = nest_.outputs[contiguous].extent;
    const bool are_pairs =
        few == 2 && SizeOfCell(program_, nest_.set.target) == 4;
    for (size_t k = 0; k < nest_.outputs.size(); ++k) {
      const NestLoop& loop = nest_.outputs[k];
      if ((are_pairs && loop.extent % lanes_ == 0 &&
           Stride(nest_.set.target, loop) == 2) ||
          (AreBetterLanes(nest_, loop.extent, few, lanes_) &&
           HasUnitStrideOperands(loop)) ||
          TransposesLess(loop, nest_.outputs[contiguous])) {
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

  // Whether `rows` fill vectors and are all rows, few beside those of n, that
  // share what depends on n, in which n is strided.
  bool TransposesLess(const NestLoop& rows, const NestLoop& n) const {
    if (rows.extent % lanes_ != 0 || rows.extent > kMaxRowsAsLanes ||
        2 * rows.extent > n.extent ||
        Iterations(nest_.reduced) < kMinReductionForRowsAsLanes) {
      return false;
    }
    bool any = false;
    bool any_of_rows = false;
    for (const Access& read : reads_) {
      any_of_rows |= Stride(read, rows) != 0;
      const int64_t stride = Stride(read, n);
      if (stride == 0) continue;
      if (stride == 1) return false;
      any = true;
      for (const NestLoop& loop : nest_.outputs) {
        const bool is_shared = Stride(read, loop) == 0 && loop.extent > 1;
        if (is_shared != (loop.iterator == rows.iterator)) return false;
      }
    }
    return any && any_of_rows;
  }

  // m: the innermost of the `loops` on which fewest operands of n depend, so
  // that rows share their loads. q: a loop on which other operands depend than
  // on m, or one like n where n is narrower than a vector. What m reads stays
  // in L1 while all tiles of q run: m is that of the two with the shorter
  // stride along k.
  void ChooseUnrolled(const std::vector<NestLoop>& loops) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const NestLoop& loop : loops) {
      const int64_t count = NumOperandsAlong(loop);
      if (n_operands_.empty() || count > least) continue;
      // Rows would share no loads; a long n hides latencies without them.
      const bool shares_none =
          count == static_cast<int64_t>(n_operands_.size());
      if (count > 0 && shares_none &&
          (count == 1 || chosen_.n.extent >= kLongRow * lanes_)) {
        continue;
      }
      least = count;
      chosen_.m = loop;
    }
    const bool is_narrow = least == 0 && chosen_.n.extent <= lanes_ &&
                           Stride(n_operands_[0], chosen_.n) == 1;
    for (const NestLoop& loop : loops) {
      const bool is_q = least > 0 || ((is_narrow || IsOverTaps(loop)) &&
                                      DependsOnSameOperandsAsN(loop));
      if (chosen_.m && is_q && !ShareAnOperand(*chosen_.m, loop)) {
        chosen_.q = loop;
      }
    }
    if (least == 0 && !chosen_.q) ChooseMoreRows(loops);
    if (chosen_.q &&
        ReductionStride(*chosen_.q) < ReductionStride(*chosen_.m)) {
      std::swap(*chosen_.m, *chosen_.q);
    }
  }

  // q: where m and n are too short to hide latencies, the innermost other loop
  // whose iterations share what depends on n, which is not packed then.
  void ChooseMoreRows(const std::vector<NestLoop>& loops) {
    const int64_t vectors = CeilDiv(chosen_.n.extent, lanes_);
    if (chosen_.m->extent * vectors >= kEnoughAccumulators) return;
    for (const Access& read : n_operands_) {
      if (Stride(read, chosen_.n) != 1) return;
    }
    for (const NestLoop& loop : loops) {
      if (loop.iterator != chosen_.m->iterator && NumOperandsAlong(loop) == 0) {
        chosen_.q = loop;
      }
    }
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
      return (Stride(read, loop) != 0) == (Stride(read, chosen_.n) != 0);
    });
  }

  // Whether the next iteration of `loop` reads along n what the next one of the
  // innermost reduced loop does, as those over the taps of a convolution's
  // weight gradient do: where both are unrolled, these loads are shared.
  bool IsOverTaps(const NestLoop& loop) const {
    return absl::c_all_of(n_operands_, [&](const Access& read) {
      return Stride(read, chosen_.n) == 1 && Stride(read, loop) != 0 &&
             Stride(read, loop) == Stride(read, nest_.reduced.back());
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

  const LoopProgram& program_;
  const PerfectNest& nest_;
  const int64_t lanes_;
  const absl::Span<const Access> reads_;  // operands
  std::vector<Access> n_operands_;        // those that depend on n
  TileLoops chosen_;
};

}  // namespace

bool AreBetterLanes(const PerfectNest& nest, int64_t extent, int64_t few,
                    int64_t lanes) {
  const int64_t vectors = CeilDiv(extent, lanes);
  return few * 2 * vectors <= extent && few * 2 <= lanes &&
         Iterations(nest.reduced) >= kMinReductionForStridedStores;
}

TileLoops ChooseTileLoops(const LoopProgram& program, const PerfectNest& nest,
                          absl::Span<const Access> operands,
                          const Target& target) {
  return LoopChooser(program, nest, operands, target).Run();
}

}  // namespace ocannl
