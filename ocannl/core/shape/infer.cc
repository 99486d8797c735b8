// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/infer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/shape/bases.h"
#include "ocannl/core/shape/errors.h"
#include "ocannl/core/shape/problem.h"
#include "ocannl/core/shape/rank.h"
#include "ocannl/core/shape/results.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/shape/size.h"
#include "ocannl/core/shape/size_rules.h"
#include "ocannl/core/shape/slot_rules.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/open_dtype.h"

namespace ocannl {
namespace {

// Relates the sizes on both sides of each reshape, which have the same number
// of cells. `axes` has those of each row of `problem`, in `sizes`. Returns the
// reshape of each relation, in order.
std::vector<TensorId> RelateReshapes(const Graph& graph, const Problem& problem,
                                     absl::Span<const std::vector<int>> axes,
                                     SizeSystem& sizes) {
  std::vector<TensorId> reshapes;
  for (TensorId id : problem.nodes) {
    const auto* reshape = std::get_if<ReshapeSource>(&graph[id].source);
    if (reshape == nullptr || !problem.index.contains(reshape->of)) continue;
    const int cells = sizes.Add(RowRole::kComputed);
    for (TensorId tensor : {reshape->of, id}) {
      std::vector<int> all;
      for (RowKind kind : kRowKinds) {
        absl::c_copy(axes[problem.RowIndex({tensor, kind})],
                     std::back_inserter(all));
      }
      sizes.Multiply(cells, all);
      reshapes.push_back(id);
    }
  }
  return reshapes;
}

// Solves first how many axes each row has, then the size of each axis. A rule
// that cannot hold is put aside, so that the message can name all sizes.
class Inference {
 public:
  Inference(const Graph& graph, Problem problem)
      : graph_(graph),
        problem_(std::move(problem)),
        wrong_covers_(problem_.rules.covers.size(), false),
        own_names_(OwnNames(graph, problem_)),
        size_rules_(graph, problem_.index, own_names_),
        slots_(graph, problem_, size_rules_, error_) {}

  absl::Status Run() {
    AddRows();
    slots_.SetRanks(ranks_);
    for (const SizeRule* rule : size_rules_.SetRanks(ranks_)) {
      ReportRule(*rule);
    }
    OCANNL_RETURN_IF_ERROR(CheckAxes(graph_, problem_, ranks_));
    CoverRanks();
    error_.Settle();
    AddAxes();
    slots_.SetSizes(axes_, sizes_);
    for (const SizeRule* rule : size_rules_.SetSizes(ranks_, sizes_)) {
      ReportRule(*rule);
    }
    reshapes_ = RelateReshapes(graph_, problem_, axes_, sizes_);
    CoverSizes();
    if (!error_.wording()) CheckParameters();
    if (!error_.wording()) CheckResults();
    if (!error_.wording()) CheckOwnNames();
    if (!error_.wording()) {
      OCANNL_RETURN_IF_ERROR(CheckAxes(graph_, problem_, ranks_));
      return CheckNumbers(
          graph_, problem_, [this](RowRef row) { return Sizes(row); },
          [this](const SpecName& name) { return Sizes(name); });
    }
    return error_.wording()(ShapeErrors(
        graph_, rules(), [this](RowRef row) { return Known(row); }));
  }

  int64_t steps() const { return ranks_.steps() + sizes_.steps(); }

  // After Run: adds what was inferred, if axes have no different bases.
  absl::Status AddTo(Shapes& shapes) const {
    OCANNL_RETURN_IF_ERROR(
        InferBases(graph_, problem_, axes_, sizes_, shapes.bases));
    // From the last: the table of shapes is allocated once.
    for (size_t k = problem_.nodes.size(); k-- > 0;) {
      const TensorId id = problem_.nodes[k];
      const auto* dim = std::get_if<DimSource>(&graph_[id].source);
      if (dim != nullptr && !dim->name.empty() && !shapes.contains(id)) {
        shapes.names[dim->of][dim->name] =
            NumElements(Sizes(SpecName{dim->of, dim->name}));
      }
      Shape& shape = shapes[id];
      for (size_t row = 0; row < shape.rows.size(); ++row) {
        shape.rows[row] = SizesOf(axes_[3 * k + row]);
      }
    }
    for (const auto& [node, names] : slots_.names()) {
      for (const auto& [name, axis] : names) {
        shapes.names[node][name] = sizes_.Size(axis);
      }
    }
    return absl::OkStatus();
  }

 private:
  const Rules& rules() const { return problem_.rules; }

  Dims SizesOf(absl::Span<const int> axes) const {
    Dims sizes;
    sizes.reserve(axes.size());
    for (int axis : axes) sizes.push_back(sizes_.Size(axis));
    return sizes;
  }
  Dims Sizes(const SpecName& name) const {
    return SizesOf(size_rules_.AxesOf(name));
  }
  Dims Sizes(RowRef row) const {
    return SizesOf(axes_[problem_.RowIndex(row)]);
  }

  void AddRows() {
    for (const ProblemRow& row : problem_.rows) {
      int rank_row = ranks_.Add(row.rank_role);
      if (row.sizes) {
        ranks_.SetLength(rank_row, static_cast<int>(row.sizes->size()));
      }
    }
  }

  void ReportRule(const SizeRule& rule) {
    error_.Report(rule.name.node, [this, &rule](const ShapeErrors& write) {
      return write.Rule(rule,
                        [this](const SpecName& name) { return Sizes(name); });
    });
  }

  void PutAside(int i) {
    const CoverRule& cover = rules().covers[i];
    wrong_covers_[i] = true;
    error_.Report(cover.node, &ShapeErrors::Covers, cover);
  }

  void CoverRanks() {
    for (const CoverRule& cover : rules().covers) {
      ranks_.Cover(problem_.RowIndex(cover.covering),
                   problem_.RowIndex(cover.covered),
                   IsNumberLike(graph_[cover.covered.tensor].source) ||
                       Stretches(graph_[cover.node]));
    }
    for (int failed : ranks_.Solve()) PutAside(failed);
    slots_.CheckRanks(ranks_);
  }

  void AddAxes() {
    for (size_t row = 0; row < problem_.rows.size(); ++row) {
      const ProblemRow& given = problem_.rows[row];
      std::vector<int> axes;
      for (int i = 0; i < ranks_.Length(static_cast<int>(row)); ++i) {
        axes.push_back(sizes_.Add(given.size_role));
        const int64_t size = given.sizes           ? (*given.sizes)[i]
                             : given.broadcastable ? 1
                                                   : 0;
        if (size == 0) continue;  // it comes from the use
        sizes_.Set(axes.back(), size, given.broadcastable && size == 1);
      }
      axes_.push_back(std::move(axes));
    }
  }

  void CoverSizes() {
    slots_.SetBounds(sizes_);
    size_rules_.SetBounds(sizes_);
    std::vector<int> rule_of;  // each pair of axes
    for (size_t i = 0; i < rules().covers.size(); ++i) {
      if (wrong_covers_[i]) continue;
      const CoverRule& cover = rules().covers[i];
      const std::vector<int>& large = axes_[problem_.RowIndex(cover.covering)];
      const std::vector<int>& small = axes_[problem_.RowIndex(cover.covered)];
      for (size_t k = 1; k <= std::min(small.size(), large.size()); ++k) {
        sizes_.Cover(large[large.size() - k], small[small.size() - k]);
        if (cover.covering.tensor == cover.node) {
          sizes_.Follow(large[large.size() - k], small[small.size() - k]);
        }
        rule_of.push_back(static_cast<int>(i));
      }
    }
    const SizeSystem::Unsatisfiable unsatisfiable = sizes_.Solve();
    for (int pair : unsatisfiable.covers) PutAside(rule_of[pair]);
    for (size_t k : unsatisfiable.at_least) ReportBound(k);
    for (const auto& [k, sizes] : unsatisfiable.relations) {
      ReportRelation(k, sizes);
    }
  }

  // Those of slots come first.
  void ReportBound(size_t k) {
    const std::vector<SlotRules::Bound>& bounds = slots_.bounds();
    if (k >= bounds.size()) {
      return ReportRule(*size_rules_.bounds()[k - bounds.size()]);
    }
    const SlotRules::Bound& wrong = bounds[k];
    error_.Report(wrong.slot->node, &ShapeErrors::Position, *wrong.slot,
                  wrong.axis, wrong.at_least);
  }

  // Those of slots come first, those of reshapes last.
  void ReportRelation(size_t k, const std::vector<int64_t>& sizes) {
    const size_t rule = k - slots_.relations().size();
    if (k < slots_.relations().size()) {
      const SlotRules::Relation& wrong = slots_.relations()[k];
      error_.Report(wrong.slot->node, &ShapeErrors::Relation, *wrong.slot,
                    wrong.axis, wrong.form, sizes);
    } else if (rule < size_rules_.relations().size()) {
      ReportRule(*size_rules_.relations()[rule]);
    } else {
      const TensorId id = reshapes_[rule - size_rules_.relations().size()];
      error_.Report(id, &ShapeErrors::Reshape, id);
    }
  }

  // What is known of a row, for messages.
  std::optional<Dims> Known(RowRef row) const {
    if (!problem_.index.contains(row.tensor)) return std::nullopt;
    int i = problem_.RowIndex(row);
    auto made = made_.find(i);
    if (made != made_.end()) return made->second;
    int rank = ranks_.Length(i);
    bool is_known = rank > 0 || ranks_.IsDetermined(i);
    if (!is_known || rank >= RankSystem::kMaxRank) return std::nullopt;
    return Sizes(row);
  }

  void CheckParameters() {
    for (TensorId id : problem_.nodes) {
      if (!std::holds_alternative<ParamSource>(graph_[id].source)) continue;
      for (RowKind kind : kRowKinds) {
        const RowRef row = {id, kind};
        const bool is_known = ranks_.IsDetermined(problem_.RowIndex(row)) &&
                              !absl::c_linear_search(Sizes(row), 0);
        if (is_known) continue;
        error_.Report(id, &ShapeErrors::Undetermined, row);
      }
    }
  }

  // A result is as large as its operands make it, whatever its uses say.
  void CheckResults() {
    auto sizes_of = [this](RowRef row) { return Sizes(row); };
    for (auto& [row, made] : EnlargedRows(graph_, problem_, sizes_of)) {
      made_[problem_.RowIndex(row)] = std::move(made);
      error_.Report(row.tensor, &ShapeErrors::Enlarged, row, Sizes(row));
    }
  }

  // What no operand has gets its size from elsewhere.
  void CheckOwnNames() {
    for (const SpecName& own : own_names_) {
      if (!size_rules_.IsOpen(own, sizes_)) continue;
      error_.Report(own.node, &ShapeErrors::OwnName, own);
    }
  }

  const Graph& graph_;
  const Problem problem_;
  std::vector<bool> wrong_covers_;
  const std::vector<SpecName> own_names_;
  FirstError error_;
  SizeRules size_rules_;
  SlotRules slots_;
  RankSystem ranks_;
  std::vector<std::vector<int>> axes_;  // in sizes_, of each row
  SizeSystem sizes_;
  std::vector<TensorId> reshapes_;       // of each of their relations
  absl::flat_hash_map<int, Dims> made_;  // of results that uses enlarge
};

// Whether inference would only find the shape that `id` has: an update rule
// asks once for each of its operands.
bool IsInferred(const Graph& graph, const Shapes& shapes,
                FirstValues first_values, TensorId id) {
  const TensorSource& source = graph[id].source;
  const auto* param = std::get_if<ParamSource>(&source);
  if (!shapes.contains(id) || std::holds_alternative<ErrorSource>(source) ||
      (param != nullptr && param->has_init() &&
       !(param->init && shapes.contains(*param->init)) &&
       (first_values == FirstValues::kAll ||
        !(param->later || PlainFirstValue(graph, id))))) {
    return false;
  }
  return graph.SizeRulesOf(id).empty();
}

absl::Status Infer(Graph& graph, absl::Span<const TensorId> roots,
                   FirstValues first_values, Shapes& shapes, int64_t* steps) {
  if (!graph.has_open() && absl::c_all_of(roots, [&](TensorId id) {
        return IsInferred(graph, shapes, first_values, id);
      })) {
    for (TensorId id : roots) {
      OCANNL_RETURN_IF_ERROR(CheckHeld(graph, id, TensorId()));
    }
    return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(Problem problem,
                          MakeProblem(graph, roots, shapes, first_values));
  Inference inference(graph, std::move(problem));
  absl::Status status = inference.Run();
  if (steps != nullptr) *steps += inference.steps();
  OCANNL_RETURN_IF_ERROR(status);
  return inference.AddTo(shapes);
}

}  // namespace

std::string ToString(const Shapes& shapes, TensorId tensor) {
  auto bases = shapes.bases.find(tensor);
  return ToString(shapes.at(tensor),
                  bases == shapes.bases.end() ? Bases() : bases->second);
}

absl::Status InferShapes(Graph& graph, absl::Span<const TensorId> roots,
                         Shapes& shapes, int64_t* steps) {
  return Infer(graph, roots, FirstValues::kAll, shapes, steps);
}

absl::Status InferUses(Graph& graph, absl::Span<const TensorId> roots,
                       Shapes& shapes) {
  return Infer(graph, roots, FirstValues::kTelling, shapes, nullptr);
}

}  // namespace ocannl
