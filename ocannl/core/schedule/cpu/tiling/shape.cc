// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/tiling/shape.h"

#include <variant>

#include "ocannl/core/loop/ir.h"

namespace ocannl {
namespace {

bool IsLeaf(const LoopProgram& program, ExprId value) {
  return std::holds_alternative<Leaf>(program.exprs[value]);
}

}  // namespace

double ContractShape::Steps() const {
  double steps = 1;
  for (int64_t extent : k) steps *= static_cast<double>(extent);
  return steps;
}

bool ContractShape::TransposesInRegisters(const Target& target) const {
  // All rows of one tile use what is transposed, so it has all of m.
  if (!b || has_q || m > target.vector_registers / 2 || n == 1) return false;
  const Operand& rows = operands[*b];
  if (rows.cell_bytes != 4 || rows.n == 1 || rows.k.back() != 1) return false;
  for (size_t loop = 0; loop < outer.size(); ++loop) {
    if (rows.outer[loop] == 0 && outer[loop] > 1) return false;
  }
  return true;
}

bool ContractShape::SharesTaps() const {
  if (!b) return false;
  const Operand& taps = operands[*b];
  return taps.q != 0 && taps.n == 1 && taps.q == taps.k.back();
}

ContractShape ShapeOf(const LoopProgram& program, const PerfectNest& nest,
                      absl::Span<const Access> operands,
                      const TileLoops& loops) {
  ContractShape shape;
  if (loops.m) shape.m = loops.m->extent;
  if (loops.q) shape.q = loops.q->extent;
  shape.n = loops.n.extent;
  shape.has_q = loops.q.has_value();
  for (const NestLoop& loop : nest.reduced) shape.k.push_back(loop.extent);
  for (const NestLoop& loop : loops.outer) shape.outer.push_back(loop.extent);
  shape.cell_bytes = SizeOfCell(program, nest.set.target);
  shape.target_cells =
      NumElements(program.buffers[nest.set.target.buffer].dims);
  int num_along_n = 0;
  for (const Access& read : operands) {
    auto stride = [&](const NestLoop& loop) {
      return StrideOf(program, read, loop.iterator);
    };
    ContractShape::Operand& operand = shape.operands.emplace_back();
    operand.cell_bytes = SizeOfCell(program, read);
    if (loops.m) operand.m = stride(*loops.m);
    if (loops.q) operand.q = stride(*loops.q);
    operand.n = stride(loops.n);
    for (const NestLoop& loop : nest.reduced) {
      operand.k.push_back(stride(loop));
    }
    for (const NestLoop& loop : loops.outer) {
      operand.outer.push_back(stride(loop));
    }
    if (operand.n == 0) continue;
    shape.b = shape.operands.size() - 1;
    ++num_along_n;
  }
  if (num_along_n > 1) shape.b.reset();
  shape.is_copy = IsLeaf(program, nest.set.value);
  const auto* sum = std::get_if<Apply>(&program.exprs[nest.set.value]);
  shape.is_sum = sum != nullptr && sum->op == Op::kAdd &&
                 IsLeaf(program, sum->args[0]) && IsLeaf(program, sum->args[1]);
  return shape;
}

}  // namespace ocannl
