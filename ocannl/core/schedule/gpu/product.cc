// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/product.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/gpu/plan_map.h"

namespace ocannl::gpu {
namespace {

bool ReadsLookups(const LoopProgram& program, const Stmt& stmt) {
  bool reads = false;
  WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
    reads = reads || std::holds_alternative<Lookup>(leaf);
  });
  return reads;
}

// The operands of y := fma(a, b, y), where each is a buffer of its own.
std::vector<Access> OperandsOf(const LoopProgram& program, const Set& set) {
  const auto* apply = std::get_if<Apply>(&program.exprs[set.value]);
  if (apply == nullptr || apply->op != Op::kFma) return {};
  std::vector<Access> operands = ReadsOf(program, set.value);
  std::erase(operands, set.target);
  if (operands.size() != 2 || operands[0].buffer == operands[1].buffer ||
      ReadsLookups(program, set)) {
    return {};
  }
  for (const Access& operand : operands) {
    if (operand.buffer == set.target.buffer ||
        program.buffers[operand.buffer].role == Role::kPrivate) {
      return {};
    }
  }
  return operands;
}

// Reads the reduction of `stmt` into `product`; false if it is none.
bool ReadSum(const LoopProgram& program, const Stmt& stmt, Product& product) {
  const For* loop = std::get_if<For>(&stmt);
  const Stmt* at = &stmt;
  for (; loop != nullptr; loop = std::get_if<For>(at)) {
    if (loop->kind != LoopKind::kFor || loop->body.stmts.size() != 1) {
      return false;
    }
    product.reduced.push_back({loop->iterator, loop->extent});
    at = &loop->body.stmts[0];
  }
  const Set* set = std::get_if<Set>(at);
  if (set == nullptr || product.reduced.empty()) return false;
  product.result = set->target;
  product.operands = OperandsOf(program, *set);
  if (product.operands.empty() ||
      !absl::c_linear_search(ReadsOf(program, set->value), set->target)) {
    return false;
  }
  return absl::c_none_of(product.reduced, [&](const NestLoop& reduced) {
    return MovesAlong(set->target, reduced.iterator);
  });
}

}  // namespace

bool MovesAlong(const Access& access, IteratorId iterator) {
  return absl::c_any_of(access.indices, [&](const Affine& index) {
    return index.FactorOf(Iterator(iterator)) != 0;
  });
}

std::optional<Product> AsProduct(const LoopProgram& program, size_t at) {
  Product product;
  product.outputs = ParallelLoops(program, at);
  const Block& body = BodyOf(program, at, product.outputs.size());
  product.statements = body.stmts.size();
  bool has_sum = false;
  for (size_t k = 0; k < body.stmts.size(); ++k) {
    const Stmt& stmt = body.stmts[k];
    if (std::holds_alternative<Set>(stmt)) continue;
    if (has_sum || !ReadSum(program, stmt, product)) return std::nullopt;
    has_sum = true;
    product.sum = k;
  }
  if (!has_sum ||
      program.buffers[product.result.buffer].role == Role::kPrivate) {
    return std::nullopt;
  }
  const IteratorId lane = product.outputs.back().iterator;
  if (MovesAlong(product.operands[0], lane)) {
    std::swap(product.operands[0], product.operands[1]);
  }
  return product;
}

}  // namespace ocannl::gpu
