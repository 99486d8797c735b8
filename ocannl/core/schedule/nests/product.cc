// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/nests/product.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// The operands of y := fma(a, b, y), where each is a buffer of its own; else
// none.
std::vector<Access> FactorsOf(const LoopProgram& program,
                              const PerfectNest& sum) {
  const auto* apply = std::get_if<Apply>(&program.exprs[sum.set.value]);
  std::vector<Access> operands = OperandsOf(program, sum);
  if (apply == nullptr || apply->op != Op::kFma || operands.size() != 2 ||
      operands[0].buffer == operands[1].buffer) {
    return {};
  }
  return operands;
}

}  // namespace

std::vector<NestLoop> ParallelLoops(const LoopProgram& program, size_t at) {
  std::vector<NestLoop> loops;
  const For* outermost = std::get_if<For>(&program.body.stmts[at]);
  if (outermost == nullptr) return loops;
  for (const For* loop : LoopChain(*outermost)) {
    if (!IsParallel(program, *loop)) break;
    loops.push_back({.iterator = loop->iterator, .extent = loop->extent});
  }
  return loops;
}

const Block& BodyOf(const LoopProgram& program, size_t at, size_t loops) {
  return LoopChain(std::get<For>(program.body.stmts[at]))[loops - 1]->body;
}

std::optional<Product> AsProduct(const LoopProgram& program, size_t at) {
  Product product;
  product.outputs = ParallelLoops(program, at);
  const Block& body = BodyOf(program, at, product.outputs.size());
  product.statements = body.stmts.size();
  for (size_t k = 0; k < body.stmts.size(); ++k) {
    const Stmt& stmt = body.stmts[k];
    if (std::holds_alternative<Set>(stmt)) continue;
    const std::optional<PerfectNest> sum = AsPerfectNest(program, stmt);
    if (!product.operands.empty() || !sum || !sum->accumulates()) {
      return std::nullopt;
    }
    for (const For* loop : LoopChain(std::get<For>(stmt))) {
      if (MovesAlong(sum->set.target, loop->iterator)) return std::nullopt;
      product.reduced.push_back({loop->iterator, loop->extent});
    }
    product.sum = k;
    product.result = sum->set.target;
    product.operands = FactorsOf(program, *sum);
    if (product.operands.empty()) return std::nullopt;
  }
  if (product.operands.empty()) return std::nullopt;
  if (MovesAlong(product.operands[0], product.outputs.back().iterator)) {
    std::swap(product.operands[0], product.operands[1]);
  }
  return product;
}

}  // namespace ocannl
