// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/graph.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

// What a node asks for itself.
std::optional<MemoryRequest> OwnRequest(const TensorSource& source) {
  if (std::holds_alternative<ParamSource>(source)) {
    return MemoryRequest{MemoryMode::kOnDevice, "a parameter"};
  }
  if (std::holds_alternative<DataSource>(source)) {
    return MemoryRequest{MemoryMode::kOnDevice, "data of the host"};
  }
  if (std::holds_alternative<NumberSource>(source)) {
    return MemoryRequest{MemoryMode::kEffectivelyConstant, "a number"};
  }
  return std::nullopt;
}

// "n35", or "n39_relu" where the operation has a word.
std::string DefaultName(const TensorNode& node, int32_t id) {
  std::string name = absl::StrCat("n", id);
  const auto* compute = std::get_if<ComputeSource>(&node.source);
  if (compute != nullptr && compute->op && !IsInfix(*compute->op)) {
    absl::StrAppend(&name, "_", Info(*compute->op).text);
  }
  return name;
}

}  // namespace

void Graph::SetPlace(TensorNode& node) const {
  if (call_ == nullptr) return;
  node.call = call_;
  node.where = call_->where;
}

std::shared_ptr<const CallNote> Graph::SetCall(
    std::shared_ptr<const CallNote> call) {
  return std::exchange(call_, std::move(call));
}

TensorId Graph::Add(TensorNode node) {
  SetPlace(node);
  for (TensorId operand : OperandsOf(node.source)) {
    CHECK(operand.valid() && operand.index < size());
  }
  TensorId id{size()};
  if (node.name.empty()) {
    node.name = DefaultName(node, id.index);
  } else {
    node.named = true;
  }
  node.name = NewName(node.name);
  if (!node.memory) node.memory = OwnRequest(node.source);
  ids_[node.name] = id;
  nodes_.push_back(std::move(node));
  return id;
}

int32_t Graph::AddStatic(std::string name, std::optional<int64_t> range) {
  statics_.push_back({.name = std::move(name), .range = range});
  return static_cast<int32_t>(statics_.size()) - 1;
}

void Graph::AddSizeRule(SizeRule rule) {
  auto check = [&](const SpecName& name) {
    CHECK(std::get<ComputeSource>(nodes_[name.node.index].source).spec)
        << name.name;
  };
  check(rule.name);
  if (const auto* other = std::get_if<SpecName>(&rule.is)) check(*other);
  size_rules_.push_back(std::move(rule));
}

std::optional<TensorId> Graph::Find(absl::string_view name) const {
  auto at = ids_.find(name);
  if (at == ids_.end()) return std::nullopt;
  return at->second;
}

void Graph::Rename(TensorId id, std::string name) {
  TensorNode& node = nodes_[id.index];
  Release(node.name);
  node.name = NewName(name);
  node.named = true;
  ids_[node.name] = id;
}

void Graph::SetText(TensorId id, std::string text) {
  nodes_[id.index].text = std::move(text);
}

absl::Status Graph::SetMemoryMode(TensorId id, const MemoryRequest& request) {
  TensorNode& node = nodes_[id.index];
  return UpdateOf(node.name, request, node.memory);
}

void Graph::SetGathers(TensorId id, GatherNote note) {
  auto& source = std::get<ComputeSource>(nodes_[id.index].source);
  CHECK(source.op == Op::kSelect && source.accum == Op::kAdd);
  source.gathers = std::move(note);
}

void Graph::SetRunsAlong(TensorId id, std::string axis) {
  auto& source = std::get<ComputeSource>(nodes_[id.index].source);
  CHECK(!source.op && source.accum == Op::kAdd);
  source.runs_along = std::move(axis);
}

void Graph::SetInit(TensorId parameter, TensorId init) {
  CHECK(init.valid() && init.index < size());
  std::get<ParamSource>(nodes_[parameter.index].source).init = init;
}

// "w", or the first of w_2, w_3, ... that is free.
std::string Graph::NewName(const std::string& base) {
  if (!ids_.contains(base)) return base;
  int& last = numbered_.try_emplace(base, 1).first->second;
  std::string name;
  do {
    name = absl::StrCat(base, "_", ++last);
  } while (ids_.contains(name));
  return name;
}

void Graph::Release(const std::string& name) {
  ids_.erase(name);
  const size_t underscore = name.rfind('_');
  int number;
  if (underscore == std::string::npos ||
      !absl::SimpleAtoi(name.substr(underscore + 1), &number)) {
    return;
  }
  auto numbered = numbered_.find(name.substr(0, underscore));
  if (numbered == numbered_.end()) return;
  numbered->second = std::min(numbered->second, std::max(number - 1, 1));
}

Graph::Mark Graph::mark() const {
  return {.nodes = size(),
          .statics = statics_.size(),
          .size_rules = size_rules_.size(),
          .randoms = randoms_};
}

void Graph::RollBack(const Mark& mark) {
  while (size() > mark.nodes) {
    Release(nodes_.back().name);
    nodes_.pop_back();
  }
  statics_.resize(mark.statics);
  while (size_rules_.size() > mark.size_rules) size_rules_.pop_back();
  randoms_ = mark.randoms;
}

std::string Describe(const TensorNode& node) {
  const std::string where = ToString(node.where);
  const bool is_part = node.call != nullptr && node.call->text != node.text;
  return absl::StrCat(
      "`", node.text, "`",
      is_part ? absl::StrCat(" in `", node.call->text, "`") : "",
      where.empty() ? "" : absl::StrCat(" (", where, ")"));
}

std::vector<TensorId> TopologicalOrder(const Graph& graph,
                                       absl::Span<const TensorId> roots,
                                       bool through_init) {
  absl::flat_hash_set<TensorId> open, done;
  std::vector<TensorId> order;
  std::vector<TensorId> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    TensorId id = stack.back();
    if (!open.insert(id).second) {
      stack.pop_back();
      if (done.insert(id).second) order.push_back(id);
      continue;
    }
    const TensorSource& source = graph[id].source;
    std::vector<TensorId> operands = OperandsOf(source);
    const auto* param = std::get_if<ParamSource>(&source);
    if (through_init && param != nullptr && param->init) {
      operands.push_back(*param->init);
    }
    for (auto it = operands.rbegin(); it != operands.rend(); ++it) {
      if (!open.contains(*it)) stack.push_back(*it);
    }
  }
  return order;
}

}  // namespace ocannl
