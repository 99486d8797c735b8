// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/contract.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/opt/cost.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"
#include "ocannl/core/schedule/cpu/tile_contract.h"

namespace ocannl {
namespace {

// Iterations of k whose rows of A are packed together: they fill cache lines
// (`bazel run //experiments:bench -- --filter=gemm`, with A transposed).
constexpr int64_t kCopiedSteps = 4;

// Cost (opt/cost.h) from which on a statement of an epilogue is a loop over
// rows of a tile that is stored: registers are free for it, and its code is in
// cache. Share of the time of `ocannl run product.ll --profile`, 1024 x 64 by
// 64 x 1024:
//
//   epilogue (cost)   exp (26)   tanh (39)   sigmoid (60)   gelu (67)
//   AVX2                  0.98        1.02           0.72        0.62
//   AVX-512               0.99        0.99           0.88        0.85
constexpr int kCostlyEpilogue = 48;

class ContractScheduler {
 public:
  ContractScheduler(NestRewriter& rewriter, const Contraction& contraction,
                    TiledContract tiled)
      : rewriter_(rewriter),
        nest_(contraction.nest),
        plan_(contraction.plan),
        epilogue_(contraction.epilogue),
        tiled_(std::move(tiled)) {}

  absl::Status Run() {
    if (plan_.packed_a) OCANNL_RETURN_IF_ERROR(PackA());
    if (plan_.packed_b) OCANNL_RETURN_IF_ERROR(PackB());
    for (const Microkernel& kernel : tiled_.kernels) {
      OCANNL_RETURN_IF_ERROR(Finish(kernel));
    }
    OCANNL_RETURN_IF_ERROR(PrivatizeSums());
    // Private buffers are of one statement.
    OCANNL_RETURN_IF_ERROR(rewriter_.EncloseSerial());
    return rewriter_.RemoveUnitLoops();
  }

 private:
  int64_t StrideAlong(const NestLoop& loop, const Access& operand) const {
    return StrideOf(rewriter_.program(), operand, loop.iterator);
  }

  // The reduced loops of the nest, of which a tile has some, on which the
  // operand depends.
  std::vector<NestLoop> StepsOf(const Microkernel& kernel,
                                const Access& operand) const {
    std::vector<NestLoop> steps = nest_.reduced;
    // There is no loop over a block of one step.
    if (kernel.k.size() < steps.size()) steps.erase(steps.begin());
    std::erase_if(steps, [&](const NestLoop& loop) {
      return StrideAlong(loop, operand) == 0;
    });
    return steps;
  }

  // A copy of A for a range of tiles of m: [blocks of k, tiles of m, k..., m].
  // Returns its loops over k, which come first now: consecutive m are closer in
  // memory.
  absl::StatusOr<std::vector<NestLoop>> CopyOfA(
      const std::vector<const Microkernel*>& kernels) {
    std::vector<IteratorId> along;
    for (const Microkernel* kernel : kernels) {
      along.push_back((kernel->m ? kernel->m : kernel->m_tiles)->iterator);
    }
    OCANNL_ASSIGN_OR_RETURN(
        std::vector<NestLoop> copy,
        rewriter_.Pack(plan_.packed_a->buffer, tiled_.region, along));
    const Microkernel& first = *kernels[0];
    const bool has_lanes = first.m.has_value();
    const bool has_tiles = first.m_tiles.has_value();
    const auto end = copy.end() - (has_lanes ? 1 : 0);
    const auto steps =
        end - static_cast<int64_t>(StepsOf(first, *plan_.packed_a).size());
    if (has_tiles) std::rotate(steps - 1, steps, end);
    OCANNL_RETURN_IF_ERROR(rewriter_.Reorder(copy));
    if (has_lanes) OCANNL_RETURN_IF_ERROR(rewriter_.Vectorize(copy.back()));
    copy.resize(copy.size() - (has_lanes ? 1 : 0) - (has_tiles ? 1 : 0));
    return copy;
  }

  // Packs A, all ranges of tiles of m at once.
  absl::Status PackA() {
    std::map<size_t, std::map<size_t, std::vector<const Microkernel*>>> ranges;
    for (const Microkernel& kernel : tiled_.kernels) {
      ranges[kernel.k_range][kernel.m_range].push_back(&kernel);
    }
    for (const auto& [k_range, m_ranges] : ranges) {
      std::vector<NestLoop> steps;
      for (const auto& [m_range, kernels] : m_ranges) {
        OCANNL_ASSIGN_OR_RETURN(std::vector<NestLoop> copy, CopyOfA(kernels));
        for (size_t k = 0; k < steps.size(); ++k) {
          OCANNL_RETURN_IF_ERROR(rewriter_.Fuse(steps[k], copy[k]));
        }
        if (steps.empty()) steps = std::move(copy);
      }
      OCANNL_RETURN_IF_ERROR(UnrollCopies(steps.back(), m_ranges.size()));
      const bool has_loop =
          steps.size() > 1 || steps[0].extent >= 2 * kCopiedSteps;
      if (plan_.is_parallel && has_loop && rewriter_.IsOutermost(steps[0])) {
        OCANNL_RETURN_IF_ERROR(rewriter_.Parallel(steps[0]));
      }
    }
    return absl::OkStatus();
  }

  // Some iterations of the loop, which is around `copies` of them, at once.
  absl::Status UnrollCopies(const NestLoop& loop, size_t copies) {
    OCANNL_ASSIGN_OR_RETURN(const std::vector<NestLoop> strips,
                            rewriter_.StripMine(loop, kCopiedSteps));
    for (const NestLoop& strip : strips) {
      std::vector<NestLoop> parts;
      if (copies > 1) {
        OCANNL_ASSIGN_OR_RETURN(parts, rewriter_.Distribute(strip));
      }
      parts.insert(parts.begin(), strip);
      for (const NestLoop& part : parts) {
        if (part.extent == 1) continue;
        OCANNL_RETURN_IF_ERROR(rewriter_.UnrollJam(part, part.extent));
      }
    }
    return absl::OkStatus();
  }

  // Packs B as [panels, k..., n], each block of its own.
  absl::Status PackB() {
    const Access& b = *plan_.packed_b;
    // But once for the outermost loop where it does not depend on that.
    const bool packs_once =
        !plan_.loops.outer.empty() && !plan_.has_k_blocks() && !plan_.cascade &&
        StrideAlong(plan_.loops.outer[0], b) == 0;
    for (const TiledContract::Block& block : tiled_.blocks) {
      std::vector<IteratorId> along;
      for (size_t k = block.first; k < block.end; ++k) {
        along.push_back(tiled_.kernels[k].stmts[tiled_.sum].back().iterator);
      }
      const NestRegion region =
          packs_once ? NestRegion(plan_.loops.outer[0]) : block.region;
      OCANNL_ASSIGN_OR_RETURN(std::vector<NestLoop> copy,
                              rewriter_.Pack(b.buffer, region, along));
      // It runs along memory: the step of unit stride is the innermost.
      const std::vector<NestLoop> steps =
          StepsOf(tiled_.kernels[block.first], b);
      const auto unit = absl::c_find_if(steps, [&](const NestLoop& loop) {
        return StrideAlong(loop, b) == 1;
      });
      if (unit != steps.end()) {
        const auto axis = copy.end() - 1 - (steps.end() - unit);
        std::rotate(axis, axis + 1, copy.end() - 1);
      }
      OCANNL_RETURN_IF_ERROR(rewriter_.Reorder(copy));
      OCANNL_RETURN_IF_ERROR(rewriter_.Vectorize(copy.back()));
      // Where a block has one step, the columns alone are copied.
      if (!plan_.b_needs_transpose || copy.size() < 2) continue;
      OCANNL_ASSIGN_OR_RETURN(
          const std::vector<NestLoop> strips,
          rewriter_.StripMine(*(copy.end() - 2), kColumnsAtOnce));
      for (const NestLoop& strip : strips) {
        OCANNL_RETURN_IF_ERROR(rewriter_.Unroll(strip));
      }
    }
    return absl::OkStatus();
  }

  // Lanes, unrolled loops, and accumulators in the place of the target.
  absl::Status Finish(const Microkernel& kernel) {
    const std::vector<NestLoop>& k = kernel.k;
    const size_t in_registers = NumInRegisters(kernel);
    for (size_t at = 0; at < kernel.stmts.size(); ++at) {
      const std::vector<NestLoop>& loops = kernel.stmts[at];
      const size_t first = at == tiled_.sum    ? k.size()
                           : at < in_registers ? 0
                                               : loops.size();
      for (size_t j = first; j + 1 < loops.size(); ++j) {
        OCANNL_RETURN_IF_ERROR(rewriter_.Unroll(loops[j]));
      }
      OCANNL_RETURN_IF_ERROR(rewriter_.Vectorize(loops.back()));
    }
    BufferId sum = nest_.set.target.buffer;
    NestRegion region = {kernel.stmts.front()[0].iterator,
                         kernel.stmts[in_registers - 1][0].iterator};
    if (ReadSum(in_registers)) {
      const BufferId tile = rewriter_.program().buffers.next_id();
      OCANNL_RETURN_IF_ERROR(rewriter_.Privatize(sum, kernel.region()));
      sum = tile;
    }
    std::vector<NestLoop> strips;
    if (!k.empty()) {
      OCANNL_ASSIGN_OR_RETURN(
          strips, rewriter_.StripMine(k.back(), plan_.tiles.unroll));
    }
    // What is left of the only reduced loop stands behind it.
    if (strips.size() > 1 && k.size() == 1 && tiled_.sum + 1 == in_registers) {
      region.last = strips[1].iterator;
    }
    for (const NestLoop& strip : strips) {
      OCANNL_RETURN_IF_ERROR(rewriter_.Unroll(strip));
    }
    for (size_t j = 0; j < plan_.tiles.whole_loops && j + 1 < k.size(); ++j) {
      OCANNL_RETURN_IF_ERROR(rewriter_.Unroll(k[k.size() - 2 - j]));
    }
    return rewriter_.Privatize(sum, region);
  }

  // How many statements of a tile run while accumulators are in registers:
  // those before the first costly one, if there are rows.
  size_t NumInRegisters(const Microkernel& kernel) const {
    if (kernel.stmts.back().size() == 1) return kernel.stmts.size();
    for (size_t at = tiled_.sum + 1; at < kernel.stmts.size(); ++at) {
      const ExprId value = epilogue_.sets[at - tiled_.sum - 1].value;
      if (CostOf(rewriter_.program(), value) >= kCostlyEpilogue) return at;
    }
    return kernel.stmts.size();
  }

  // Whether statements of a tile from `first` on, of the epilogue, read the
  // sum.
  bool ReadSum(size_t first) const {
    const auto users =
        absl::MakeConstSpan(epilogue_.sets).subspan(first - tiled_.sum - 1);
    return absl::c_any_of(users, [&](const Set& user) {
      return absl::c_linear_search(ReadsOf(rewriter_.program(), user.value),
                                   nest_.set.target);
    });
  }

  // Blocks of a cascaded sum are added up in L1 where the cells of a tile are
  // apart in the result.
  absl::Status PrivatizeSums() {
    if (!plan_.cascade || tiled_.kernels.size() > 1) return absl::OkStatus();
    const Access& sum = epilogue_.sets[0].target;
    if (StrideAlong(plan_.loops.n, sum) == 1) return absl::OkStatus();
    return rewriter_.Privatize(sum.buffer, NestRegion(tiled_.cascades[0]));
  }

  NestRewriter& rewriter_;
  const PerfectNest& nest_;
  const ContractPlan& plan_;
  const Epilogue& epilogue_;
  const TiledContract tiled_;
};

}  // namespace

absl::Status ScheduleContract(NestRewriter& rewriter,
                              const Contraction& contraction) {
  OCANNL_ASSIGN_OR_RETURN(TiledContract tiled,
                          TileContract(rewriter, contraction));
  return ContractScheduler(rewriter, contraction, std::move(tiled)).Run();
}

}  // namespace ocannl
