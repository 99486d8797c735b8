// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/rules.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

// Bit patterns that break wrong rules: zeros of both signs, ones, denormals,
// the largest and the smallest, infinities and NaN; and some ordinary numbers.
std::vector<Constant> Samples(DType dtype) {
  std::vector<Constant> samples;
  auto add = [&](uint64_t bits) { samples.push_back(FromBits(dtype, bits)); };
  switch (dtype) {
    case DType::kBool:
      for (uint64_t bits : {0, 1}) add(bits);
      break;
    case DType::kF32:
      for (uint64_t bits :
           {0x0u, 0x80000000u, 0x1u, 0x80000001u, 0x007fffffu, 0x00800000u,
            0x3f800000u, 0xbf800000u, 0x40490fdbu, 0xc2f6e979u, 0x7f7fffffu,
            0xff7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u}) {
        add(bits);
      }
      break;
    case DType::kF64:
      for (double value : {0.0, -0.0, 5e-324, 1.0, -1.0, 3.14, -123.456, 1e308,
                           -1e308, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
        uint64_t bits;
        std::memcpy(&bits, &value, sizeof(bits));
        add(bits);
      }
      break;
    default:
      for (double value : {0., 1., 2., 3., 17., 100., 255., -1., -2., -100.,
                           2147483647., -2147483648., 4294967295., 1e18}) {
        samples.push_back(MakeConstant(dtype, value));
      }
  }
  return samples;
}

// The value of `id` with variables x, y, z, c replaced.
Constant ValueAt(ExprPool& pool, ExprId id, const std::vector<Constant>& at) {
  ExprId closed = Rewrite(pool, id, [&](ExprId node) {
    const Leaf* leaf = std::get_if<Leaf>(&pool[node]);
    return leaf == nullptr ? node : pool.Add(at[leaf->id]);
  });
  return Fold(pool, closed);
}

// Every choice of samples for the variables of `id`; the others stay 0.
std::vector<std::vector<Constant>> Points(const ExprPool& pool, ExprId id,
                                          DType dtype) {
  std::vector<std::vector<Constant>> points = {
      {FromBits(dtype, 0), FromBits(dtype, 0), FromBits(dtype, 0),
       FromBits(DType::kBool, 0)}};
  absl::btree_set<int32_t> variables;
  std::vector<ExprId> stack = {id};
  while (!stack.empty()) {
    const ExprNode& node = pool[stack.back()];
    stack.pop_back();
    if (const Leaf* leaf = std::get_if<Leaf>(&node)) variables.insert(leaf->id);
    const Apply* apply = std::get_if<Apply>(&node);
    if (apply == nullptr) continue;
    stack.insert(stack.end(), apply->args.begin(), apply->args.end());
  }
  for (int32_t variable : variables) {
    std::vector<std::vector<Constant>> more;
    for (const std::vector<Constant>& point : points) {
      for (const Constant& sample :
           Samples(variable == 3 ? DType::kBool : dtype)) {
        more.push_back(point);
        more.back()[variable] = sample;
      }
    }
    points = std::move(more);
  }
  return points;
}

// Where `rule` changes a bit, as text; empty if nowhere.
std::string Difference(DType dtype, const RuleSet& set, const Rule& rule) {
  ExprPool rules;
  ExprId before = CopyExpr(set.pool, rule.before, rules);
  ExprId after = CopyExpr(set.pool, rule.after, rules);
  for (const std::vector<Constant>& at : Points(rules, before, dtype)) {
    ExprPool pool = rules;
    Constant expected = ValueAt(pool, before, at);
    Constant actual = ValueAt(pool, after, at);
    if (expected == actual) continue;
    std::string place =
        absl::StrJoin(at, ", ", [](std::string* out, const Constant& constant) {
          absl::StrAppend(out, PrintConstant(constant));
        });
    return absl::StrCat(
        Name(dtype), ": ", rule.text, " at x, y, z, c = ", place, ": ",
        PrintConstant(expected), " became ", PrintConstant(actual));
  }
  return "";
}

TEST(RulesTest, ExactRulesKeepEveryBit) {
  int checked = 0;
  for (DType dtype : kDTypes) {
    const RuleSet& set = RulesFor(dtype);
    for (const Rule& rule : set.rules) {
      if (rule.rule_class != RuleClass::kExact) continue;
      EXPECT_EQ(Difference(dtype, set, rule), "");
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

// The operations of `id`, each occurrence.
int Size(const ExprPool& pool, ExprId id) {
  const Apply* apply = std::get_if<Apply>(&pool[id]);
  if (apply == nullptr) return 0;
  int size = 1;
  for (ExprId arg : apply->args) size += Size(pool, arg);
  return size;
}

TEST(RulesTest, NoRuleGrowsAnExpression) {
  for (DType dtype : kDTypes) {
    const RuleSet& set = RulesFor(dtype);
    for (const Rule& rule : set.rules) {
      EXPECT_LE(Size(set.pool, rule.after), Size(set.pool, rule.before))
          << rule.text;
      EXPECT_NE(rule.before, rule.after) << rule.text;
    }
  }
}

TEST(RulesTest, RealRulesAreNotExactByMistake) {
  // Each real rule changes some bit, or it would be in the wrong class.
  const RuleSet& set = RulesFor(DType::kF32);
  for (const Rule& rule : set.rules) {
    if (rule.rule_class != RuleClass::kReal) continue;
    EXPECT_NE(Difference(DType::kF32, set, rule), "") << rule.text;
  }
}

TEST(RulesTest, VariablesMatchOneThing) {
  const RuleSet& set = RulesFor(DType::kF32);
  auto rule = absl::c_find_if(
      set.rules, [](const Rule& r) { return r.text == "Max(x, x) -> x"; });
  ASSERT_NE(rule, set.rules.end());
  ExprPool pool;
  Expr a = MakeLeaf(pool, DType::kF32, 7);
  Expr b = MakeLeaf(pool, DType::kF32, 8);
  EXPECT_EQ(ApplyRule(set, *rule, pool, Max(a, a).id()), a.id());
  EXPECT_EQ(ApplyRule(set, *rule, pool, Max(a, b).id()), std::nullopt);
  EXPECT_EQ(ApplyRule(set, *rule, pool, Min(a, a).id()), std::nullopt);
}

}  // namespace
}  // namespace ocannl
