// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/simplify.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

class Simplifier {
 public:
  Simplifier(ExprPool& pool, RuleClass most) : pool_(pool), most_(most) {}

  ExprId Run(ExprId root) {
    return Rewrite(pool_, root, done_, [&](ExprId id) { return Node(id); });
  }

 private:
  bool IsConstant(ExprId id) const {
    return std::holds_alternative<Constant>(pool_[id]);
  }

  // The operands of `id` are simple already.
  ExprId Node(ExprId id) {
    while (true) {
      const Apply* apply = std::get_if<Apply>(&pool_[id]);
      if (apply == nullptr) return id;
      if (absl::c_all_of(apply->args,
                         [&](ExprId arg) { return IsConstant(arg); })) {
        return pool_.Add(Fold(pool_, id));
      }
      if (Info(apply->op).traits == kCommutative &&
          IsConstant(apply->args[0])) {
        Apply swapped = *apply;
        std::swap(swapped.args[0], swapped.args[1]);
        id = pool_.Add(std::move(swapped));
        continue;
      }
      std::optional<ExprId> smaller = Rule(id, apply->op);
      if (!smaller) return id;
      // The right-hand side may hold new operations below its root.
      return Run(*smaller);
    }
  }

  std::optional<ExprId> Rule(ExprId id, Op op) {
    const RuleSet& set = RulesFor(TypeOf(pool_, id));
    for (int number : set.of_op[static_cast<size_t>(op)]) {
      const ocannl::Rule& rule = set.rules[number];
      if (rule.rule_class > most_) continue;
      if (auto after = ApplyRule(set, rule, pool_, id)) return after;
    }
    return std::nullopt;
  }

  ExprPool& pool_;
  RuleClass most_;
  ExprMap done_;  // what became of nodes of every statement so far
};

}  // namespace

LoopProgram Simplify(LoopProgram program, RuleClass most) {
  Simplifier simplifier(program.exprs, most);
  RewriteValues(program.body, [&](ExprId id) { return simplifier.Run(id); });
  return program;
}

}  // namespace ocannl
