// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/problem.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/open_dtype.h"

namespace ocannl {
namespace {

// The initialiser of `id`, a parameter, if it has one of no shape yet. It may
// come later than the shape of the parameter.
std::optional<TensorId> OpenInit(const Graph& graph, TensorId id,
                                 const GivenShapes& given) {
  const auto* param = std::get_if<ParamSource>(&graph[id].source);
  if (param == nullptr || !param->init) return std::nullopt;
  if (given.contains(id) && given.contains(*param->init)) return std::nullopt;
  return param->init;
}

// What must have a shape for `id` to have one, but for an initialiser.
absl::Span<const TensorId> NeedsOf(const Graph& graph, TensorId id,
                                   bool is_given) {
  const TensorSource& source = graph[id].source;
  if (is_given) return {};
  const auto* dim = std::get_if<DimSource>(&source);
  return dim == nullptr ? OperandsOf(source) : absl::MakeConstSpan(&dim->of, 1);
}

// The einsums that size rules name, or whose rules are wanted.
class Ruled {
 public:
  explicit Ruled(const Graph& graph) : graph_(graph) {}

  void Insert(TensorId id) { wanted_.insert(id); }
  bool contains(TensorId id) const {
    return wanted_.contains(id) || !graph_.SizeRulesOf(id).empty();
  }

  // Appends those that rules of `id` name.
  void AppendOthers(TensorId id, std::vector<TensorId>& to) const {
    for (size_t k : graph_.SizeRulesOf(id)) {
      const SizeRule& rule = graph_.size_rules()[k];
      const auto* other = std::get_if<SpecName>(&rule.is);
      if (other == nullptr) continue;
      to.push_back(rule.name.node == id ? other->node : rule.name.node);
    }
  }

 private:
  const Graph& graph_;
  absl::flat_hash_set<TensorId> wanted_;
};

// The einsum a name of which the tensor is the size of.
std::optional<TensorId> CapturedIn(const TensorNode& node) {
  const auto* dim = std::get_if<DimSource>(&node.source);
  if (dim == nullptr || dim->name.empty()) return std::nullopt;
  return dim->of;
}

// Adds the nodes of a problem, from its roots on.
class NodeCollector {
 public:
  NodeCollector(Graph& graph, const GivenShapes& given,
                FirstValues first_values, Ruled& ruled, Problem& problem)
      : graph_(graph),
        given_(given),
        first_values_(first_values),
        ruled_(ruled),
        problem_(problem) {}

  void Collect(absl::Span<const TensorId> roots) {
    stack_.assign(roots.begin(), roots.end());
    AddAll();
    // What is left out must be of no other use.
    for (size_t k = 0; k < plain_.size(); ++k) {
      const auto& [init, nodes] = plain_[k];
      if (absl::c_any_of(nodes, [&](TensorId id) {
            return problem_.index.contains(id) || given_.contains(id);
          })) {
        stack_.push_back(init);
        AddAll();
      }
    }
    absl::c_sort(problem_.nodes);
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      problem_.index[problem_.nodes[i]] = static_cast<int>(i);
    }
  }

 private:
  void AddAll() {
    while (!stack_.empty()) {
      const TensorId id = stack_.back();
      stack_.pop_back();
      if (problem_.index.try_emplace(id, 0).second) Add(id);
    }
  }

  void Add(TensorId id) {
    problem_.nodes.push_back(id);
    const bool is_ruled = ruled_.contains(id);
    const bool is_given = given_.contains(id) && !is_ruled;
    for (TensorId need : NeedsOf(graph_, id, is_given)) stack_.push_back(need);
    if (first_values_ == FirstValues::kAll) MakeInit(id);
    if (const auto init = OpenInit(graph_, id, given_)) AddInit(id, *init);
    ruled_.AppendOthers(id, stack_);
    std::optional<TensorId> einsum = CapturedIn(graph_[id]);
    if (!einsum || given_.contains(id)) return;
    // Whether it was met or not, its rules tell the sizes of its names.
    ruled_.Insert(*einsum);
    absl::c_copy(OperandsOf(graph_[*einsum].source),
                 std::back_inserter(stack_));
  }

  void MakeInit(TensorId id) {
    const bool is_parameter =
        std::holds_alternative<ParamSource>(graph_[id].source);
    if (is_parameter) graph_.MakeInit(id);
  }

  void AddInit(TensorId parameter, TensorId init) {
    if (first_values_ == FirstValues::kTelling) {
      if (auto nodes = PlainFirstValue(graph_, parameter)) {
        plain_.emplace_back(init, *std::move(nodes));
        return;
      }
    }
    stack_.push_back(init);
  }

  Graph& graph_;
  const GivenShapes& given_;
  const FirstValues first_values_;
  Ruled& ruled_;
  Problem& problem_;
  std::vector<TensorId> stack_;
  // Initialisers that are left out so far, and their nodes.
  std::vector<std::pair<TensorId, std::vector<TensorId>>> plain_;
};

// Whether the shape of `init` comes from its use only.
bool TakesShapeOfUse(const Graph& graph, TensorId init) {
  absl::flat_hash_set<TensorId> met = {init};
  std::vector<TensorId> stack = {init};
  while (!stack.empty()) {
    const TensorSource& source = graph[stack.back()].source;
    stack.pop_back();
    if (std::holds_alternative<OffsetsSource>(source)) return true;
    for (TensorId operand : OperandsOf(source)) {
      if (met.insert(operand).second) stack.push_back(operand);
    }
  }
  return false;
}

RowRole RoleOf(const Graph& graph, const TensorNode& node) {
  if (const auto* param = std::get_if<ParamSource>(&node.source)) {
    bool is_open = !param->init || TakesShapeOfUse(graph, *param->init);
    return is_open ? RowRole::kParameter : RowRole::kLeaf;
  }
  bool is_leaf =
      std::holds_alternative<OffsetsSource>(node.source) || Stretches(node);
  return is_leaf ? RowRole::kLeaf : RowRole::kComputed;
}

// What open first values are made of: their offsets do not tell the sizes of
// a parameter, as free leaves would.
absl::flat_hash_set<TensorId> InFirstValues(const Graph& graph,
                                            const Problem& problem) {
  absl::flat_hash_set<TensorId> inside;
  for (TensorId id : problem.nodes) {
    const auto* param = std::get_if<ParamSource>(&graph[id].source);
    if (param == nullptr || !param->init) continue;
    if (!problem.index.contains(*param->init)) continue;
    if (!TakesShapeOfUse(graph, *param->init)) continue;
    for (TensorId part : TopologicalOrder(graph, {*param->init}, false)) {
      inside.insert(part);
    }
  }
  return inside;
}

ProblemRow MakeRow(const TensorNode& node, RowKind kind, RowRole role,
                   const Shape* given) {
  ProblemRow row = {.rank_role = role,
                    .size_role = role,
                    .sizes = node.spec[kind],
                    .broadcastable = false};
  if (given != nullptr) {
    // Sizes of 1 that came out of an earlier inference broadcast.
    row.broadcastable =
        !row.sizes && !std::holds_alternative<DataSource>(node.source);
    row.sizes = (*given)[kind];
  } else if (IsNumberLike(node.source)) {
    row.sizes = Dims();
    row.broadcastable = true;
  } else if (std::holds_alternative<ParamSource>(node.source) &&
             kind == RowKind::kBatch && !row.sizes) {
    row.sizes = Dims();
  }
  return row;
}

// A parameter that is given outputs and is never multiplied with needs no
// inputs, such as a bias.
void AllowNoInputs(const Graph& graph, Problem& problem) {
  absl::flat_hash_set<TensorId> multiplied;
  for (const CoverRule& cover : problem.rules.covers) {
    if (cover.covering.tensor != cover.node) {
      multiplied.insert(cover.covering.tensor);
    }
  }
  for (TensorId id : problem.nodes) {
    if (!graph[id].spec[RowKind::kOutput] || multiplied.contains(id)) continue;
    ProblemRow& inputs = problem[{id, RowKind::kInput}];
    if (inputs.rank_role == RowRole::kParameter)
      inputs.rank_role = RowRole::kLeaf;
  }
}

// A number has the axes that a spec gives it. As the second factor of a product
// of tensors it has an output axis, which takes inputs of the first one; so it
// has as the first value of a parameter without outputs, which are still to be
// found. Else it has none.
void FitNumbers(const Graph& graph, const GivenShapes& given,
                Problem& problem) {
  auto is_open = [&](RowRef row) {
    return IsNumberLike(graph[row.tensor].source) &&
           !given.contains(row.tensor);
  };
  for (const CoverRule& cover : problem.rules.covers) {
    const TensorNode& node = graph[cover.node];
    const bool is_factor = cover.covering.tensor != cover.node;
    const bool is_first_value =
        std::holds_alternative<ParamSource>(node.source) &&
        cover.covered.kind == RowKind::kOutput && !node.spec[RowKind::kOutput];
    if ((is_factor || is_first_value) && is_open(cover.covered)) {
      problem[cover.covered].sizes = Dims{1};
    }
  }
  for (const SlotRule& slot : problem.rules.slots) {
    if (is_open(slot.row)) problem[slot.row].sizes.reset();
  }
}

// The static index with a range, if any, that first slices each tensor.
absl::flat_hash_map<TensorId, StaticSymbol> Slicers(const Graph& graph,
                                                    const Problem& problem) {
  absl::flat_hash_map<TensorId, StaticSymbol> slicers;
  for (TensorId id : problem.nodes) {
    const auto* slice = std::get_if<SliceSource>(&graph[id].source);
    if (slice == nullptr) continue;
    const StaticSymbol& symbol = graph.statics()[slice->static_index];
    if (symbol.range) slicers.try_emplace(slice->of, symbol);
  }
  return slicers;
}

// Gives the open row of an array the elements that its other rows leave: one
// axis, or two if the row is a batch that `slicer` slices. The last of them, if
// it has one cell, is there only if the array has an axis for it.
absl::Status CloseData(const TensorNode& node, const StaticSymbol* slicer,
                       absl::Span<ProblemRow> rows) {
  const NdArray& data = *std::get<DataSource>(node.source).data;
  int64_t rest = data.size();
  size_t axes = data.dims().size();  // of the open row
  ProblemRow* open = nullptr;
  for (ProblemRow& row : rows) {
    if (row.sizes) {
      rest /= NumElements(*row.sizes);
      axes -= std::min(axes, row.sizes->size());
    } else {
      open = &row;
    }
  }
  if (open == nullptr) return absl::OkStatus();
  bool is_sliced =
      slicer != nullptr && open == &rows[static_cast<int>(RowKind::kBatch)];
  int64_t parts = is_sliced ? *slicer->range : 1;
  if (rest % parts != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shape error in ", Describe(node), ": its batch row of ", rest,
        " does not divide into the ", parts, " values of `", slicer->name,
        "`; change the range, or give the batch row"));
  }
  open->sizes = Dims();
  if (is_sliced) open->sizes->push_back(parts);
  if (rest != parts || axes > open->sizes->size()) {
    open->sizes->push_back(rest / parts);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Problem> MakeProblem(Graph& graph,
                                    absl::Span<const TensorId> roots,
                                    const GivenShapes& given,
                                    FirstValues first_values) {
  DecideDTypes(graph, roots);
  Problem problem;
  Ruled ruled(graph);
  NodeCollector(graph, given, first_values, ruled, problem).Collect(roots);
  absl::flat_hash_set<TensorId> in_first_values = InFirstValues(graph, problem);
  for (TensorId id : problem.nodes) {
    const TensorNode& node = graph[id];
    const auto* error = std::get_if<ErrorSource>(&node.source);
    if (error != nullptr) return error->status;
    OCANNL_RETURN_IF_ERROR(CheckHeld(graph, id, TensorId()));
    auto shape = given.find(id);
    bool is_given = shape != given.end();
    RowRole role = RoleOf(graph, node);
    if (role == RowRole::kLeaf && in_first_values.contains(id)) {
      role = RowRole::kParameter;
    }
    for (RowKind kind : kRowKinds) {
      problem.rows.push_back(
          MakeRow(node, kind, role, is_given ? &shape->second : nullptr));
    }
    const std::optional<TensorId> init = OpenInit(graph, id, given);
    if (init && !problem.index.contains(*init)) continue;
    if (!is_given || init || ruled.contains(id)) {
      AddRules(graph, id, problem.rules);
    }
  }
  AllowNoInputs(graph, problem);
  FitNumbers(graph, given, problem);
  auto slicers = Slicers(graph, problem);
  for (TensorId id : problem.nodes) {
    if (!std::holds_alternative<DataSource>(graph[id].source)) continue;
    auto slicer = slicers.find(id);
    auto rows = absl::MakeSpan(problem.rows)
                    .subspan(problem.RowIndex({id, RowKind::kBatch}), 3);
    OCANNL_RETURN_IF_ERROR(CloseData(
        graph[id], slicer == slicers.end() ? nullptr : &slicer->second, rows));
  }
  return problem;
}

absl::Status CheckAxes(const Graph& graph, const Problem& problem,
                       const RankSystem& ranks) {
  for (size_t k = 0; k < problem.nodes.size(); ++k) {
    int64_t axes = 0;
    for (size_t row = 3 * k; row < 3 * k + 3; ++row) {
      axes += std::max(ranks.Length(static_cast<int>(row)), 0);
    }
    if (axes <= kMaxAxes) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "shape error in ", Describe(graph[problem.nodes[k]]), ": it has ", axes,
        " axes, but ", kMaxAxes, " is the most; make one axis of several"));
  }
  return absl::OkStatus();
}

}  // namespace ocannl
