// SPDX-License-Identifier: Apache-2.0
#include "tests/support/block_evaluator.h"

#include <cstring>
#include <utility>
#include <variant>

#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/ops/visit_primitive.h"

namespace ocannl {
namespace {

// Lists the nodes below `root`, operands first.
std::vector<ExprId> Order(ExprPool& pool, ExprId root) {
  std::vector<ExprId> order;
  Rewrite(pool, root, [&](ExprId id) {
    order.push_back(id);
    return id;
  });
  return order;
}

}  // namespace

BlockEvaluator::BlockEvaluator(ExprPool& pool, ExprId root) {
  root = Expand(pool, root);
  const std::vector<ExprId> order = Order(pool, root);
  absl::flat_hash_map<ExprId, int> uses;
  for (ExprId id : order) {
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    if (apply == nullptr) continue;
    for (ExprId arg : apply->args) ++uses[arg];
  }
  absl::flat_hash_map<ExprId, Place> places;
  for (ExprId id : order) {
    places[id] = CompileNode(pool, id, places);
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    if (apply == nullptr) continue;
    for (ExprId arg : apply->args) {
      if (--uses[arg] == 0 && std::holds_alternative<Apply>(pool[arg])) {
        free_.push_back(places.at(arg));
      }
    }
  }
  root_ = places.at(root);
}

// Constants and leaves are written once, so they keep their places; other
// results take places of results that are no longer needed.
BlockEvaluator::Place BlockEvaluator::NewPlace(bool lasting) {
  if (!lasting && !free_.empty()) {
    Place place = free_.back();
    free_.pop_back();
    return place;
  }
  blocks_.push_back(std::make_unique<Block>());
  return blocks_.back()->bytes;
}

BlockEvaluator::Place BlockEvaluator::CompileNode(
    const ExprPool& pool, ExprId id,
    const absl::flat_hash_map<ExprId, Place>& places) {
  Place place = NewPlace(!std::holds_alternative<Apply>(pool[id]));
  std::visit(Overload{[&](const Constant& constant) {
                        const size_t size = SizeOf(constant.dtype);
                        for (int i = 0; i < kBlock; ++i) {
                          std::memcpy(place + i * size, &constant.bits, size);
                        }
                      },
                      [&](const Leaf& leaf) { leaves_[leaf.id] = place; },
                      [&](const Apply& apply) {
                        Step step = {.op = apply.op,
                                     .operand = TypeOf(pool, apply.args.back()),
                                     .result = apply.dtype,
                                     .out = place,
                                     .args = {}};
                        for (size_t i = 0; i < apply.args.size(); ++i) {
                          step.args[i] = places.at(apply.args[i]);
                        }
                        steps_.push_back(step);
                      }},
             pool[id]);
  return place;
}

void BlockEvaluator::RunStep(const Step& step) {
  VisitPrimitive(step.op, step.result, step.operand,
                 [&]<class... Args>(auto f, OperandTypes<Args...>) {
                   using Result = decltype(f(Args()...));
                   auto* __restrict out =
                       reinterpret_cast<Result*>(step.out);  // is no operand
                   [&]<size_t... k>(std::index_sequence<k...>) {
                     for (int i = 0; i < kBlock; ++i) {
                       out[i] =
                           f(reinterpret_cast<const Args*>(step.args[k])[i]...);
                     }
                   }
                   (std::index_sequence_for<Args...>());
                 });
}

}  // namespace ocannl
