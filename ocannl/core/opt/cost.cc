// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/cost.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

struct Counts {
  int cost = 0;
  Arithmetic arithmetic;

  void operator+=(const Counts& other) {
    cost += other.cost;
    arithmetic.operations += other.arithmetic.operations;
    arithmetic.flops += other.arithmetic.flops;
  }
};

Counts CountsOfPrimitive(const Apply& apply) {
  const Op op = apply.op;
  const bool slow = op == Op::kDiv || op == Op::kRem || op == Op::kSqrt;
  const int operations = op == Op::kFma ? 2 : 1;
  return {slow ? 8 : 1, {operations, IsFloat(apply.dtype) ? operations : 0}};
}

Counts CountsOfApply(const ExprPool& pool, const Apply& apply) {
  if (Info(apply.op).primitive) return CountsOfPrimitive(apply);
  // By op and types, that of the result first: the same in every program, and
  // slow to find out.
  thread_local absl::flat_hash_map<std::pair<Op, std::vector<DType>>, Counts>
      derived;
  std::vector<DType> types = {apply.dtype};
  for (ExprId arg : apply.args) types.push_back(TypeOf(pool, arg));
  auto [known, is_new] = derived.try_emplace({apply.op, types});
  if (!is_new) return known->second;
  ExprPool definition;
  std::vector<Expr> args;
  for (size_t k = 0; k < apply.args.size(); ++k) {
    args.push_back(MakeLeaf(definition, types[k + 1], static_cast<int>(k)));
  }
  const ExprId root =
      Expand(definition, ApplyOp(apply.op, args, apply.dtype).id());
  Counts counts;
  WalkNodes(definition, root, [&](const ExprNode& node) {
    const Apply* inner = std::get_if<Apply>(&node);
    if (inner != nullptr) counts += CountsOfPrimitive(*inner);
  });
  return known->second = counts;
}

Counts CountsOf(const LoopProgram& program, ExprId value) {
  Counts counts;
  WalkNodes(program.exprs, value, [&](const ExprNode& node) {
    if (const Leaf* leaf = std::get_if<Leaf>(&node)) {
      const LeafValue& read = program.At(*leaf);
      counts.cost += std::holds_alternative<Access>(read)   ? kLoadCost
                     : std::holds_alternative<Lookup>(read) ? kLookupCost
                                                            : 0;
    } else if (const Apply* apply = std::get_if<Apply>(&node)) {
      counts += CountsOfApply(program.exprs, *apply);
    }
  });
  return counts;
}

}  // namespace

int CostOf(const LoopProgram& program, ExprId value) {
  return CountsOf(program, value).cost;
}

Arithmetic ArithmeticOf(const LoopProgram& program, ExprId value) {
  return CountsOf(program, value).arithmetic;
}

}  // namespace ocannl
