// SPDX-License-Identifier: Apache-2.0
//
// Algebraic simplification: the rewrite rules of rules.def as pairs of
// expressions (a term rewriting system), and their pattern matcher.
#ifndef OCANNL_CORE_OPT_RULES_H_
#define OCANNL_CORE_OPT_RULES_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

enum class RuleClass : uint8_t { kExact, kReal };

struct Rule {
  std::string text;  // "x * 1 -> x", as rules.def writes it
  RuleClass rule_class;
  ExprId before;  // in RuleSet::pool; its leaves are variables
  ExprId after;
};

// The rules for operands of one type.
struct RuleSet {
  ExprPool pool;
  std::vector<Rule> rules;
  // Those of `rules` that an application of each op may match, in order.
  std::array<std::vector<int>, kNumOps> of_op;
};
const RuleSet& RulesFor(DType dtype);

// `rule`'s right-hand side for `root`, an expression of `pool`, if its
// left-hand side matches.
std::optional<ExprId> ApplyRule(const RuleSet& set, const Rule& rule,
                                ExprPool& pool, ExprId root);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_RULES_H_
