// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/layout.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <variant>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/cpu/tiling/tile_loops.h"

namespace ocannl {
namespace {

// Products with each cell of a temp that amortize a transposing copy of it,
// which does about one cell in a cycle and a half
// (`bazel run //experiments:bench -- --filter=net/lenet`).
constexpr double kMinUsesOfCell = 32;

// Whether all of the operand's last axis but one, and no other axis, goes along
// with the loop.
bool GoesAlongLastButOne(const Access& read, IteratorId loop) {
  const size_t rank = read.indices.size();
  if (rank < 2 || read.indices[rank - 2].FactorOf(Iterator(loop)) != 1) {
    return false;
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    if (axis == rank - 2) continue;
    if (read.indices[axis].FactorOf(Iterator(loop)) != 0) return false;
  }
  return true;
}

class LayoutChooser {
 public:
  LayoutChooser(const LoopProgram& program,
                const std::vector<CanonicalNest>& nests, const Target& target)
      : program_(program), nests_(nests), target_(target) {}

  // Temps whose last two axes are swapped.
  std::vector<BufferId> Run() const {
    std::vector<BufferId> swapped;
    for (const CanonicalNest& canonical : nests_) {
      const auto* nest = std::get_if<PerfectNest>(&canonical);
      if (nest == nullptr || !nest->accumulates()) continue;
      const std::optional<BufferId> temp = TempOf(*nest);
      if (temp && IsOnlyCopied(*temp)) swapped.push_back(*temp);
    }
    return swapped;
  }

 private:
  // The operand of the nest that keeps it from better lanes; nullopt: none, or
  // it is no temp.
  std::optional<BufferId> TempOf(const PerfectNest& nest) const {
    const int contiguous = FindLaneLoop(program_, nest);
    if (contiguous < 0) return std::nullopt;
    const NestLoop& few = nest.outputs[contiguous];
    const int64_t lanes =
        target_.vector_bytes / SizeOfCell(program_, nest.set.target);
    const std::vector<Access> operands = OperandsOf(program_, nest);
    for (const NestLoop& loop : nest.outputs) {
      if (!AreBetterLanes(nest, loop.extent, few.extent, lanes)) continue;
      std::vector<Access> along;
      absl::c_copy_if(
          operands, std::back_inserter(along),
          [&](const Access& read) { return MovesAlong(read, loop.iterator); });
      if (along.size() != 1 || MovesAlong(along[0], few.iterator)) continue;
      const Buffer& buffer = program_.buffers[along[0].buffer];
      const auto cells = static_cast<double>(NumElements(buffer.dims));
      if (buffer.role == Role::kTemp &&
          GoesAlongLastButOne(along[0], loop.iterator) &&
          Iterations(nest.outputs) * Iterations(nest.reduced) >=
              kMinUsesOfCell * cells) {
        return along[0].buffer;
      }
    }
    return std::nullopt;
  }

  // Whether one nest alone reads the buffer, and others assign to it cell by
  // cell, or zero it.
  bool IsOnlyCopied(BufferId buffer) const {
    int reads = 0;
    for (size_t k = 0; k < nests_.size(); ++k) {
      const Stmt& stmt = program_.body.stmts[k];
      if (std::holds_alternative<ZeroOut>(stmt)) continue;
      const Effects effects = EffectsOf(program_, stmt);
      const auto* nest = std::get_if<PerfectNest>(&nests_[k]);
      if (absl::c_linear_search(effects.reads, buffer)) {
        ++reads;
        if (nest == nullptr) return false;
      }
      if (absl::c_linear_search(effects.writes, buffer) &&
          (nest == nullptr || nest->accumulates() ||
           !LookedUpBy(program_, nest->set.value).empty())) {
        return false;
      }
    }
    return reads == 1;
  }

  const LoopProgram& program_;
  const std::vector<CanonicalNest>& nests_;
  const Target& target_;
};

}  // namespace

absl::StatusOr<bool> ChooseLayouts(LoopProgram& program,
                                   const std::vector<CanonicalNest>& nests,
                                   const Target& target,
                                   rewrite::Script* script) {
  const std::vector<BufferId> temps =
      LayoutChooser(program, nests, target).Run();
  rewrite::Rewriter rewriter(program, script);
  for (BufferId temp : temps) {
    const Buffer& buffer = program.buffers[temp];
    OCANNL_RETURN_IF_ERROR(rewriter.SwapAxes(
        buffer.name, static_cast<int64_t>(buffer.dims.size()) - 2));
  }
  return !temps.empty();
}

}  // namespace ocannl
