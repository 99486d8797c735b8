// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {
namespace {

// What a node asks for itself.
AskedMemory OwnRequest(const TensorSource& source) {
  static const auto* parameter =
      new AskedMemory(MemoryMode::kOnDevice, "a parameter");
  static const auto* data =
      new AskedMemory(MemoryMode::kOnDevice, "data of the host");
  static const auto* number =
      new AskedMemory(MemoryMode::kEffectivelyConstant, "a number");
  if (std::holds_alternative<ParamSource>(source)) return *parameter;
  if (std::holds_alternative<DataSource>(source)) return *data;
  if (std::holds_alternative<NumberSource>(source)) return *number;
  return std::nullopt;
}

// The numbers of `array`, rounded to nearest even.
NdArray Rounded(const NdArray& array, DType dtype) {
  NdArray rounded(dtype, array.dims());
  VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < array.size(); ++k) {
      rounded.values<T>()[k] = number::Convert<T>(array.AsDouble(k));
    }
  });
  return rounded;
}

// "n35", or "n39_relu" where the operation has a word.
std::string DefaultName(const TensorNode& node, int32_t number) {
  std::string name = absl::StrCat("n", number);
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

Graph::Graph() = default;
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

TensorId Graph::Add(TensorNode node) {
  SetPlace(node);
  for (TensorId operand : OperandsOf(node.source)) {
    CHECK(operand.valid() && operand.index < size());
  }
  TensorId id{size()};
  if (node.open >= 0) {
    open_.at(node.open).nodes.push_back(id);
  } else if (IsNumberLike(node.source)) {
    node.open = kFree;
  }
  if (node.name.empty()) {
    node.name = DefaultName(node, numbers_);
  } else {
    node.named = true;
  }
  ++numbers_;
  node.name = NewName(node.name);
  if (!node.memory) node.memory = OwnRequest(node.source);
  nodes_.push_back(std::move(node));
  TakeName(id);
  return id;
}

int32_t Graph::AddStatic(std::string name, std::optional<int64_t> range) {
  statics_.push_back({.name = std::move(name), .range = range});
  return static_cast<int32_t>(statics_.size()) - 1;
}

std::optional<int32_t> Graph::Step() const {
  for (size_t k = 0; k < statics_.size(); ++k) {
    const std::string& name = statics_[k].name;
    if (name == "step" || name == "step_n") return static_cast<int32_t>(k);
  }
  return std::nullopt;
}

// The einsums that the rule names, each once.
static std::vector<TensorId> NodesOf(const SizeRule& rule) {
  std::vector<TensorId> nodes = {rule.name.node};
  const auto* other = std::get_if<SpecName>(&rule.is);
  if (other != nullptr && other->node != nodes[0]) nodes.push_back(other->node);
  return nodes;
}

void Graph::AddSizeRule(SizeRule rule) {
  auto check = [&](const SpecName& name) {
    CHECK(EinsumOf(nodes_[name.node.index].source)) << name.name;
  };
  check(rule.name);
  if (const auto* other = std::get_if<SpecName>(&rule.is)) check(*other);
  for (TensorId id : NodesOf(rule)) {
    size_rules_of_[id].push_back(size_rules_.size());
  }
  size_rules_.push_back(std::move(rule));
}

absl::Span<const size_t> Graph::SizeRulesOf(TensorId id) const {
  const auto rules = size_rules_of_.find(id);
  if (rules == size_rules_of_.end()) return {};
  return rules->second;
}

std::optional<TensorId> Graph::Find(absl::string_view name) const {
  const auto number = ids_.Find(name, [&](int32_t k) { return NameOf(k); });
  if (!number) return std::nullopt;
  return TensorId{*number};
}

void Graph::Rename(TensorId id, std::string name) {
  TensorNode& node = nodes_[id.index];
  Release(node.name);
  node.name = NewName(name);
  node.named = true;
  TakeName(id);
}

void Graph::SetText(TensorId id, std::string text) {
  nodes_[id.index].text = std::move(text);
}

absl::Status Graph::SetMemoryMode(TensorId id, const MemoryRequest& request) {
  TensorNode& node = nodes_[id.index];
  return UpdateOf(node.name, request, node.memory);
}

void Graph::SetGather(TensorId id, TensorId ids, bool scatters) {
  auto* source = std::get_if<ComputeSource>(&nodes_[id.index].source);
  if (source == nullptr) return;
  CHECK(source->op == Op::kSelect && source->accum == Op::kAdd);
  source->logic = ComputeSource::Gather{*source->spec(), ids, scatters};
}

void Graph::SetScan(TensorId id, std::string axis) {
  TensorSource& source = nodes_[id.index].source;
  const auto* einsum = std::get_if<ComputeSource>(&source);
  if (einsum == nullptr) return;
  CHECK(!einsum->has_op() && einsum->accum == Op::kAdd);
  source = ScanSource{einsum->operands[0], *einsum->spec(), std::move(axis)};
}

void Graph::SetInit(TensorId parameter, TensorId init) {
  CHECK(init.valid() && init.index < size());
  auto& param = std::get<ParamSource>(nodes_[parameter.index].source);
  param.init = init;
  param.later = std::nullopt;
}

void Graph::SetLaterInit(TensorId parameter, int32_t shared) {
  auto& param = std::get<ParamSource>(nodes_[parameter.index].source);
  param.later = LaterInit{.shared = shared,
                          .first_node = numbers_,
                          .randoms = randoms_,
                          .seed = seed_};
  numbers_ += shared_inits_[shared].nodes;
  randoms_ += shared_inits_[shared].randoms;
}

void Graph::MakeInit(TensorId parameter) {
  TensorNode& node = nodes_[parameter.index];
  auto& param = std::get<ParamSource>(node.source);
  if (param.init || !param.later) return;
  const SharedInit& shared = shared_inits_[param.later->shared];
  const int32_t numbers = std::exchange(numbers_, param.later->first_node);
  const uint32_t randoms = std::exchange(randoms_, param.later->randoms);
  const uint32_t seed = std::exchange(seed_, param.later->seed);
  const DType dtype = std::exchange(node.dtype, shared.dtype);
  auto call = SetCall(node.call);  // as when the parameter was made
  param.init = shared.make(Tensor{this, parameter}).id;
  CHECK(numbers_ - param.later->first_node == shared.nodes);
  SetCall(std::move(call));
  node.dtype = dtype;
  seed_ = seed;
  randoms_ = randoms;
  numbers_ = numbers;
  made_inits_.push_back(parameter);
}

void Graph::set_default_dtype(DType dtype) {
  CHECK(IsFloat(ComputeDType(dtype))) << Name(dtype);
  default_dtype_ = dtype;
}

void Graph::Open(TensorId id) {
  TensorNode& node = nodes_[id.index];
  CHECK(node.open == kDecided && IsFloat(ComputeDType(node.dtype)));
  node.dtype = default_dtype_;
  node.open = opened_++;
  open_[node.open] = {.dtype = node.dtype, .nodes = {id}};
}

void Graph::Unite(TensorId id, TensorId with) {
  TensorNode& node = nodes_[id.index];
  const int32_t from = node.open;
  const int32_t to = nodes_[with.index].open;
  CHECK(from != kDecided && to >= 0);
  if (from == to) return;
  // The few join the many.
  if (from >= 0 && open_.at(from).nodes.size() > open_.at(to).nodes.size()) {
    return Unite(with, id);
  }
  std::vector<TensorId> nodes = {id};
  if (from >= 0) nodes = std::move(open_.extract(from).mapped().nodes);
  OpenDType& all = open_.at(to);
  for (TensorId each : nodes) {
    nodes_[each.index].open = to;
    nodes_[each.index].dtype = all.dtype;
  }
  all.nodes.insert(all.nodes.end(), nodes.begin(), nodes.end());
}

void Graph::Decide(TensorId id, DType dtype, DTypeNote note) {
  const int32_t open = std::exchange(nodes_[id.index].open, kDecided);
  CHECK(open != kDecided);
  nodes_[id.index].dtype = dtype;
  if (open == kFree) return;
  const auto nodes = std::move(open_.extract(open).mapped().nodes);
  const auto shared = std::make_shared<const DTypeNote>(note);
  for (TensorId each : nodes) {
    TensorNode& node = nodes_[each.index];
    node.dtype = dtype;
    node.open = kDecided;
    node.dtype_note = shared;
    auto* data = std::get_if<DataSource>(&node.source);
    if (data == nullptr || data->data->dtype() == dtype) continue;
    note.data = data->data;
    node.dtype_note = std::make_shared<const DTypeNote>(note);
    const NdArray& digits = data->digits ? *data->digits : *note.data;
    data->data = std::make_shared<const NdArray>(Rounded(digits, dtype));
  }
}

void Graph::TakeName(TensorId id) {
  ids_.Add(NameOf(id.index), id.index, [&](int32_t k) { return NameOf(k); });
}

// "w", or the first of w_2, w_3, ... that is free.
std::string Graph::NewName(const std::string& base) {
  auto is_taken = [&](const std::string& name) {
    return Find(name) || reserved_.contains(name);
  };
  if (!is_taken(base)) return base;
  int& last = numbered_.try_emplace(base, 1).first->second;
  std::string name;
  do {
    name = absl::StrCat(base, "_", ++last);
  } while (is_taken(name));
  return name;
}

std::string Graph::Reserve(const std::string& base) {
  return *reserved_.insert(NewName(base)).first;
}

void Graph::Release(const std::string& name) {
  ids_.Erase(name, [&](int32_t k) { return NameOf(k); });
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

void Graph::ReuseParameters(size_t begin, size_t end) {
  CHECK(begin <= end && end <= parameters_.size());
  reuse_ = Reuse{.next = begin, .end = end};
}

std::optional<TensorId> Graph::NextReused() {
  if (reuse_->next == reuse_->end) return std::nullopt;
  return parameters_[reuse_->next++];
}

Graph::Mark Graph::mark() const {
  return {.nodes = size(),
          .numbers = numbers_,
          .statics = statics_.size(),
          .size_rules = size_rules_.size(),
          .randoms = randoms_,
          .open = open_,
          .reused = reuse_ ? reuse_->next : 0};
}

void Graph::RollBack(const Mark& mark) {
  while (size() > mark.nodes) {
    Release(nodes_.back().name);
    nodes_.pop_back();
  }
  numbers_ = mark.numbers;
  std::erase_if(shared_inits_, [&](const SharedInit& shared) {
    return shared.like >= size();
  });
  for (; !made_inits_.empty(); made_inits_.pop_back()) {
    const int32_t made = made_inits_.back().index;
    if (made >= size()) continue;
    auto& param = std::get<ParamSource>(nodes_[made].source);
    if (param.init->index < size()) break;
    param.init = std::nullopt;
  }
  statics_.resize(mark.statics);
  for (; size_rules_.size() > mark.size_rules; size_rules_.pop_back()) {
    for (TensorId id : NodesOf(size_rules_.back())) {
      size_rules_of_[id].pop_back();
    }
  }
  randoms_ = mark.randoms;
  while (!parameters_.empty() && parameters_.back().index >= size()) {
    parameters_.pop_back();
  }
  if (reuse_) reuse_->next = mark.reused;
  for (const auto& [number, open] : open_) {
    for (TensorId id : open.nodes) {
      if (id.index < size()) nodes_[id.index].open = kDecided;
    }
  }
  open_ = mark.open;
  for (const auto& [number, open] : open_) {
    for (TensorId id : open.nodes) {
      TensorNode& node = nodes_[id.index];
      node.dtype = open.dtype;
      node.open = number;
      const auto note = std::exchange(node.dtype_note, nullptr);
      if (note == nullptr || note->data == nullptr) continue;
      std::get<DataSource>(node.source).data = note->data;
    }
  }
}

std::string Describe(const TensorNode& node) {
  const std::string where = ToString(node.where);
  const bool is_part = node.call != nullptr && node.call->text != node.text;
  return absl::StrCat(
      "`", node.text, "`",
      is_part ? absl::StrCat(" in `", node.call->text, "`") : "",
      where.empty() ? "" : absl::StrCat(" (", where, ")"));
}

bool IsNumberLike(const TensorSource& source) {
  return std::holds_alternative<NumberSource>(source) ||
         std::holds_alternative<SymbolSource>(source) ||
         std::holds_alternative<DimSource>(source);
}

std::vector<TensorId> TopologicalOrder(
    const Graph& graph, absl::Span<const TensorId> roots, bool through_init,
    absl::FunctionRef<bool(TensorId)> stops_at) {
  // The first ones are listed: most orders are short. The others have a bit.
  constexpr size_t kFew = 32;
  absl::InlinedVector<TensorId, kFew> few;
  std::vector<bool> met;
  auto is_new = [&](TensorId id) {
    if (met.empty()) {
      if (absl::c_linear_search(few, id)) return false;
      few.push_back(id);
      if (few.size() < kFew) return true;
      met.resize(graph.size());
      for (TensorId each : few) met[each.index] = true;
      return true;
    }
    if (met[id.index]) return false;
    met[id.index] = true;
    return true;
  };
  std::vector<TensorId> order;
  // A node whose operands are above it is there once more, negated.
  std::vector<TensorId> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    const TensorId id = stack.back();
    stack.pop_back();
    if (id.index < 0) {
      order.push_back({~id.index});
      continue;
    }
    if (!is_new(id)) continue;
    stack.push_back({~id.index});
    if (stops_at(id)) continue;
    const auto first = static_cast<std::ptrdiff_t>(stack.size());
    const TensorSource& source = graph[id].source;
    for (TensorId operand : OperandsOf(source)) stack.push_back(operand);
    const auto* param = std::get_if<ParamSource>(&source);
    if (through_init && param != nullptr && param->init) {
      stack.push_back(*param->init);
    }
    std::reverse(stack.begin() + first, stack.end());
  }
  return order;
}

std::vector<TensorId> TopologicalOrder(const Graph& graph,
                                       absl::Span<const TensorId> roots,
                                       bool through_init) {
  return TopologicalOrder(graph, roots, through_init,
                          [](TensorId) { return false; });
}

}  // namespace ocannl
