// SPDX-License-Identifier: Apache-2.0
#include "tests/block_evaluator.h"

#include <cstring>
#include <type_traits>
#include <variant>

#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/eval.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/ops/rows.h"

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
  VisitDType(step.operand, [&](auto zero) { RunTyped<decltype(zero)>(step); });
}

template <class T>
void BlockEvaluator::RunTyped(const Step& step) {
  const T* a = reinterpret_cast<const T*>(step.args[0]);
  const T* b = reinterpret_cast<const T*>(step.args[1]);
  const T* c = reinterpret_cast<const T*>(step.args[2]);
  auto fill = [&step](auto&& value) {
    using R = decltype(value(0));
    R* __restrict out = reinterpret_cast<R*>(step.out);  // is no operand
    for (int i = 0; i < kBlock; ++i) out[i] = value(i);
  };
  if (step.op == Op::kBitcast) {
    std::memcpy(step.out, a, kBlock * sizeof(T));
  } else if (step.op == Op::kConvert) {
    VisitDType(step.result, [&](auto zero) {
      fill([&](int i) { return number::Convert<decltype(zero)>(a[i]); });
    });
  } else if (step.op == Op::kSelect) {
    const bool* chosen = reinterpret_cast<const bool*>(step.args[0]);
    fill([&](int i) { return number::Select(chosen[i], b[i], c[i]); });
  }
  switch (step.op) {
#define OCANNL_CALL_1(name) number::name(a[i])
#define OCANNL_CALL_2(name) number::name(a[i], b[i])
#define OCANNL_CALL_3(name) number::name(a[i], b[i], c[i])
#define DERIVED(...)
#define PRIMITIVE(name, text, arity, typing, ...)                              \
  case Op::k##name:                                                            \
    if constexpr (Op::k##name != Op::kConvert &&                               \
                  Op::k##name != Op::kBitcast && Op::k##name != Op::kSelect && \
                  Fits<T>(Typing::typing)) {                                   \
      fill([&](int i) { return OCANNL_CALL_##arity(name); });                  \
    }                                                                          \
    break;
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
    default:
      break;
  }
}

}  // namespace ocannl
