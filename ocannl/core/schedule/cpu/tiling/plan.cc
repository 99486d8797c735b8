// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/tiling/plan.h"

#include <cstddef>
#include <vector>

#include "ocannl/core/schedule/cpu/tiling/shape.h"

namespace ocannl {

ContractPlan PlanContract(const LoopProgram& program, const PerfectNest& nest,
                          const Target& target) {
  const std::vector<Access> operands = OperandsOf(program, nest);
  ContractPlan plan;
  plan.loops = ChooseTileLoops(program, nest, operands, target);
  const ContractShape shape = ShapeOf(program, nest, operands, plan.loops);
  plan.tiles = BlockForRegisters(shape, target);
  plan.blocks = BlockForCaches(shape, plan.tiles, target);
  if (const auto a = plan.blocks.packed_a) plan.packed_a = operands[*a];
  if (const auto b = plan.blocks.packed_b) {
    plan.packed_b = operands[*b];
    plan.b_needs_transpose = shape.operands[*b].n != 1;
  }
  plan.is_parallel =
      plan.tiles.cycles * Iterations(plan.loops.outer) > kMinParallelCycles;
  return plan;
}

}  // namespace ocannl
