// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/rules.h"

#include <array>
#include <memory>
#include <utility>
#include <variant>

#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {
namespace {

// The variables x, y, z and c.
constexpr int kVariables = 4;
using Substitution = std::array<ExprId, kVariables>;

Expr True(Expr c) { return LiteralLike(c, 1); }
Expr False(Expr c) { return LiteralLike(c, 0); }

std::unique_ptr<RuleSet> MakeRules(DType dtype) {
  auto set = std::make_unique<RuleSet>();
  const Expr x = MakeLeaf(set->pool, dtype, 0);
  const Expr y = MakeLeaf(set->pool, dtype, 1);
  const Expr z = MakeLeaf(set->pool, dtype, 2);
  const Expr c = MakeLeaf(set->pool, DType::kBool, 3);
#define RULE(class, domain, before, after)                         \
  if (Accepts(Typing::domain, dtype)) {                            \
    set->rules.push_back({#before " -> " #after, RuleClass::class, \
                          Expr(before).id(), Expr(after).id()});   \
  }
#include "ocannl/core/opt/rules.def"
#undef RULE
  for (size_t k = 0; k < set->rules.size(); ++k) {
    const auto& root = std::get<Apply>(set->pool[set->rules[k].before]);
    set->of_op[static_cast<size_t>(root.op)].push_back(static_cast<int>(k));
  }
  return set;
}

bool Match(const ExprPool& patterns, ExprId pattern, const ExprPool& pool,
           ExprId id, Substitution& binding) {
  return std::visit(Overload{
                        [&](const Constant& constant) {
                          const auto* other = std::get_if<Constant>(&pool[id]);
                          return other != nullptr && *other == constant;
                        },
                        [&](const Leaf& variable) {
                          if (TypeOf(pool, id) != variable.dtype) return false;
                          ExprId& bound = binding[variable.id];
                          if (!bound.valid()) bound = id;
                          return bound == id;
                        },
                        [&](const Apply& apply) {
                          const auto* other = std::get_if<Apply>(&pool[id]);
                          if (other == nullptr || other->op != apply.op ||
                              other->dtype != apply.dtype) {
                            return false;
                          }
                          for (size_t k = 0; k < apply.args.size(); ++k) {
                            if (!Match(patterns, apply.args[k], pool,
                                       other->args[k], binding)) {
                              return false;
                            }
                          }
                          return true;
                        },
                    },
                    patterns[pattern]);
}

ExprId Build(const ExprPool& patterns, ExprId pattern,
             const Substitution& binding, ExprPool& pool) {
  return std::visit(
      Overload{
          [&](const Constant& constant) { return pool.Add(constant); },
          [&](const Leaf& variable) { return binding[variable.id]; },
          [&](const Apply& apply) {
            Apply built = apply;
            for (ExprId& arg : built.args) {
              arg = Build(patterns, arg, binding, pool);
            }
            return pool.Add(std::move(built));
          },
      },
      patterns[pattern]);
}

}  // namespace

const RuleSet& RulesFor(DType dtype) {
#define OCANNL_RULES(name, text, type) MakeRules(DType::k##name),
  static const auto* sets = new std::array{OCANNL_DTYPES(OCANNL_RULES)};
#undef OCANNL_RULES
  return *(*sets)[static_cast<int>(dtype)];
}

std::optional<ExprId> ApplyRule(const RuleSet& set, const Rule& rule,
                                ExprPool& pool, ExprId root) {
  Substitution binding;
  if (!Match(set.pool, rule.before, pool, root, binding)) return std::nullopt;
  return Build(set.pool, rule.after, binding, pool);
}

}  // namespace ocannl
