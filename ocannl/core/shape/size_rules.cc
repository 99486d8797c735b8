// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/size_rules.h"

#include <algorithm>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

const SpecName* OtherOf(const SizeRule& rule) {
  return std::get_if<SpecName>(&rule.is);
}

// Whether the axes of a row have so many cells together.
bool IsProduct(const SizeRule& rule) {
  const SpecName* other = OtherOf(rule);
  return rule.name.is_row() && !std::holds_alternative<Dims>(rule.is) &&
         (other == nullptr || !other->is_row());
}

}  // namespace

SizeRules::SizeRules(const Graph& graph,
                     const absl::flat_hash_map<TensorId, int>& nodes,
                     absl::Span<const SpecName> others) {
  for (const SpecName& other : others) nodes_.insert(other.node);
  std::vector<size_t> numbers;
  for (const auto& [id, index] : nodes) {
    for (size_t k : graph.SizeRulesOf(id)) {
      if (graph.size_rules()[k].name.node == id) numbers.push_back(k);
    }
  }
  absl::c_sort(numbers);
  for (size_t k : numbers) {
    const SizeRule& rule = graph.size_rules()[k];
    rules_.push_back(&rule);
    nodes_.insert(rule.name.node);
    if (OtherOf(rule) != nullptr) nodes_.insert(OtherOf(rule)->node);
  }
  for (const auto& entry : nodes) {
    const auto* dim = std::get_if<DimSource>(&graph[entry.first].source);
    if (dim != nullptr && !dim->name.empty()) nodes_.insert(dim->of);
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
    if (const auto* sizes = std::get_if<Dims>(&rule->is)) {
      const auto length = static_cast<int>(sizes->size());
      if (!ranks.SetLength(row, length)) wrong.push_back(rule);
    } else if (other == nullptr || !other->is_row()) {
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
    if (rule->at_least) continue;
    const std::vector<int> axes = AxesOf(rule->name);
    const std::vector<int> others = OthersOf(*rule, sizes);
    bool fits = axes.size() == others.size();
    // Without an axis for one of them, its slot is wrong.
    const bool has_axes = !others.empty() && !axes.empty();
    if (rule->factor != 1) {
      if (!has_axes) continue;
      sizes.Relate(axes[0], {{.axis = others[0], .factor = rule->factor}}, 0);
      relations_.push_back(rule);
      continue;
    }
    if (IsProduct(*rule)) {
      if (others.empty()) continue;
      sizes.Multiply(others[0], axes);
      relations_.push_back(rule);
      continue;
    }
    for (size_t k = 0; fits && k < axes.size(); ++k) {
      fits = sizes.Equate(axes[k], others[k]);
    }
    if (!fits) wrong.push_back(rule);
  }
  return wrong;
}

void SizeRules::SetBounds(SizeSystem& sizes) {
  for (const SizeRule* rule : rules_) {
    if (!rule->at_least) continue;
    const std::vector<int> axes = AxesOf(rule->name);
    if (axes.empty()) continue;  // its slot is wrong
    sizes.AtLeast(axes[0], std::get<int64_t>(rule->is));
    bounds_.push_back(rule);
  }
}

// The axes of the other name, or new ones of the sizes that are said.
std::vector<int> SizeRules::OthersOf(const SizeRule& rule,
                                     SizeSystem& sizes) const {
  if (OtherOf(rule) != nullptr) return AxesOf(*OtherOf(rule));
  const auto* dims = std::get_if<Dims>(&rule.is);
  std::vector<int> others;
  for (int64_t size :
       dims != nullptr ? *dims : Dims{std::get<int64_t>(rule.is)}) {
    others.push_back(sizes.Add(RowRole::kComputed));
    sizes.Set(others.back(), size, false);
  }
  return others;
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

bool SizeRules::IsOpen(const SpecName& name, const SizeSystem& sizes) const {
  const std::vector<int> axes = AxesOf(name);
  const bool is_ruled = absl::c_any_of(rules_, [&](const SizeRule* rule) {
    const SpecName* other = OtherOf(*rule);
    return rule->name == name || (other != nullptr && *other == name);
  });
  if (axes.empty()) return !is_ruled;
  return absl::c_any_of(axes,
                        [&](int axis) { return sizes.IsBroadcastable(axis); });
}

}  // namespace ocannl
