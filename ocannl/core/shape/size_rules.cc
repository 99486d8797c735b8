// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/size_rules.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

const SpecName* OtherOf(const SizeRule& rule) {
  return std::get_if<SpecName>(&rule.is);
}

}  // namespace

SizeRules::SizeRules(const Graph& graph,
                     const absl::flat_hash_map<TensorId, int>& nodes) {
  for (const SizeRule& rule : graph.size_rules()) {
    if (!nodes.contains(rule.name.node)) continue;
    rules_.push_back(&rule);
    nodes_.insert(rule.name.node);
    if (OtherOf(rule) != nullptr) nodes_.insert(OtherOf(rule)->node);
  }
}

void SizeRules::AddRow(TensorId node, const std::string& variable, int row) {
  if (!nodes_.contains(node)) return;
  rows_[node][absl::StrCat("..", variable, "..")] = row;
}

void SizeRules::AddAxis(TensorId node, const std::string& name, int axis) {
  if (nodes_.contains(node)) axes_[node][name] = axis;
}

std::vector<const SizeRule*> SizeRules::SetRanks(RankSystem& ranks) {
  std::vector<const SizeRule*> wrong;
  for (const SizeRule* rule : rules_) {
    const SpecName& name = rule->name;
    if (!name.is_row()) continue;
    const int row = rows_[name.node][name.name];
    const SpecName* other = OtherOf(*rule);
    if (other == nullptr || !other->is_row()) {
      const auto* size = std::get_if<int64_t>(&rule->is);
      ranks.Prefer(row, size != nullptr && *size == 1 ? 0 : 1);
    } else if (!ranks.SetDifference(row, rows_[other->node][other->name], 0)) {
      wrong.push_back(rule);
    }
  }
  return wrong;
}

std::vector<const SizeRule*> SizeRules::SetSizes(const RankSystem& ranks,
                                                 SizeSystem& sizes) {
  for (const auto& [node, rows] : rows_) {
    for (const auto& [name, row] : rows) {
      lengths_[node][name] = std::max(ranks.Length(row), 0);
    }
  }
  std::vector<const SizeRule*> wrong;
  for (const SizeRule* rule : rules_) {
    const std::vector<int> axes = AxesOf(rule->name);
    std::vector<int> others;
    const SpecName* other = OtherOf(*rule);
    if (other != nullptr) {
      others = AxesOf(*other);
    } else {
      others = {sizes.Add(Role::kComputed)};
      sizes.Set(others[0], std::get<int64_t>(rule->is), false);
    }
    bool fits = axes.size() == others.size();
    if (rule->name.is_row() && (other == nullptr || !other->is_row())) {
      // Without an axis for the other, its slot is wrong.
      if (others.empty()) continue;
      sizes.Multiply(others[0], axes);
      products_.push_back(rule);
      continue;
    }
    for (size_t k = 0; fits && k < axes.size(); ++k) {
      fits = sizes.Equate(axes[k], others[k]);
    }
    if (!fits) wrong.push_back(rule);
  }
  return wrong;
}

std::vector<int> SizeRules::AxesOf(const SpecName& name) const {
  auto axes = axes_.find(name.node);
  auto axis = [&](const std::string& text) {
    if (axes == axes_.end()) return std::vector<int>();
    auto at = axes->second.find(text);
    return at == axes->second.end() ? std::vector<int>()
                                    : std::vector<int>{at->second};
  };
  if (!name.is_row()) return axis(name.name);
  std::vector<int> all;
  auto lengths = lengths_.find(name.node);
  if (lengths == lengths_.end()) return all;
  for (int k = 0; k < lengths->second.at(name.name); ++k) {
    for (int one : axis(absl::StrCat(name.name, k))) all.push_back(one);
  }
  return all;
}

}  // namespace ocannl
