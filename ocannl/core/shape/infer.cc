// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/infer.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/shape/bases.h"
#include "ocannl/core/shape/errors.h"
#include "ocannl/core/shape/problem.h"
#include "ocannl/core/shape/rank.h"
#include "ocannl/core/shape/reshape_sizes.h"
#include "ocannl/core/shape/results.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/shape/size.h"
#include "ocannl/core/shape/size_rules.h"

namespace ocannl {
namespace {

// Solves first how many axes each row has, then the size of each axis. A rule
// that cannot hold is put aside, so that the message can name all sizes.
class Inference {
 public:
  Inference(const Graph& graph, Problem problem)
      : graph_(graph),
        problem_(std::move(problem)),
        wrong_covers_(problem_.rules.covers.size(), false),
        wrong_slots_(problem_.rules.slots.size(), false),
        own_names_(OwnNames(graph, problem_)),
        size_rules_(graph, problem_.index, own_names_) {}

  absl::Status Run() {
    AddRows();
    SlotRanks();
    OCANNL_RETURN_IF_ERROR(CheckAxes(graph_, problem_, ranks_));
    CoverRanks();
    AddAxes();
    SetWrittenPositions();
    SlotSizes();
    reshapes_ = RelateReshapes(graph_, problem_, axes_, sizes_);
    CoverSizes();
    if (!error_) CheckParameters();
    if (!error_) CheckResults();
    if (!error_) CheckOwnNames();
    if (!error_) return CheckAxes(graph_, problem_, ranks_);
    return error_(ShapeErrors(graph_, rules(),
                              [this](RowRef row) { return Known(row); }));
  }

  int64_t steps() const { return ranks_.steps() + sizes_.steps(); }

  // After Run: adds what was inferred, if axes have no different bases.
  absl::Status AddTo(Shapes& shapes) const {
    OCANNL_RETURN_IF_ERROR(
        InferBases(graph_, problem_, axes_, sizes_, shapes.bases));
    for (TensorId id : problem_.nodes) {
      const auto* dim = std::get_if<DimSource>(&graph_[id].source);
      const bool captures = dim != nullptr && !dim->name.empty();
      if (!captures || shapes.contains(id)) continue;
      int64_t size = 1;
      for (int axis : size_rules_.AxesOf({dim->of, dim->name})) {
        size *= sizes_.Size(axis);
      }
      shapes.names[dim->of][dim->name] = size;
    }
    for (TensorId id : problem_.nodes) {
      for (RowKind kind : kRowKinds) shapes[id][kind] = Sizes({id, kind});
    }
    for (const auto& [node, names] : names_) {
      for (const auto& [name, axis] : names) {
        shapes.names[node][name] = sizes_.Size(axis);
      }
    }
    return absl::OkStatus();
  }

 private:
  // An error, worded once everything is known.
  using ErrorMaker = std::function<absl::Status(const ShapeErrors&)>;
  // An axis that is read at a position, or at the values of a static index.
  struct Position {
    size_t slot;
    int axis;
    int64_t at_least;
  };

  // An axis whose size comes from those of others.
  struct RelatedAxis {
    size_t slot;
    int axis;
    EinsumAxis form;
  };

  const Rules& rules() const { return problem_.rules; }

  Dims Sizes(RowRef row) const {
    Dims sizes;
    for (int axis : axes_[problem_.RowIndex(row)]) {
      sizes.push_back(sizes_.Size(axis));
    }
    return sizes;
  }

  // The first operation's counts, and ranks before sizes.
  void Report(int stage, TensorId node, ErrorMaker error) {
    if (error_ && std::make_pair(error_stage_, error_node_) <=
                      std::make_pair(stage, node)) {
      return;
    }
    error_ = std::move(error);
    error_stage_ = stage;
    error_node_ = node;
  }

  void AddRows() {
    for (const ProblemRow& row : problem_.rows) {
      int rank_row = ranks_.Add(row.rank_role);
      if (row.sizes) {
        ranks_.SetLength(rank_row, static_cast<int>(row.sizes->size()));
      }
    }
  }

  void SlotRanks() {
    absl::flat_hash_map<std::string, int> variables;  // of one node
    for (size_t i = 0; i < rules().slots.size(); ++i) {
      const SlotRule& slot = rules().slots[i];
      if (slot.place == 0) variables.clear();
      int row = problem_.RowIndex(slot.row);
      // A number has no more axes than it must.
      if (problem_.rows[row].broadcastable) {
        ranks_.Prefer(row, slot.axes->size());
      }
      bool fits;
      if (slot.axes->variable) {
        auto [at, is_new] = variables.try_emplace(*slot.axes->variable, -1);
        if (is_new) at->second = ranks_.Add(RowRole::kComputed);
        size_rules_.AddRow(slot.node, *slot.axes->variable, at->second);
        fits = ranks_.SetDifference(row, at->second, slot.axes->size());
        if (!fits && !ranks_.HasLength(row)) {
          MarkWrongSlot(i, &ShapeErrors::OccursCheck);
          continue;
        }
      } else {
        fits = ranks_.SetLength(row, slot.axes->size());
      }
      if (!fits) MarkWrongSlot(i, &ShapeErrors::Rank);
    }
    for (const SizeRule* rule : size_rules_.SetRanks(ranks_)) {
      MarkWrongRule(0, *rule);
    }
  }

  void MarkWrongRule(int stage, const SizeRule& rule) {
    Report(stage, rule.name.node, [this, &rule](const ShapeErrors& write) {
      auto sizes_of = [&](const SpecName& name) {
        Dims sizes;
        for (int axis : size_rules_.AxesOf(name)) {
          sizes.push_back(sizes_.Size(axis));
        }
        return sizes;
      };
      return write.Rule(rule, sizes_of);
    });
  }

  void MarkWrongSlot(size_t i,
                     absl::Status (ShapeErrors::*wording)(const SlotRule&)
                         const) {
    const SlotRule& slot = rules().slots[i];
    wrong_slots_[i] = true;
    Report(0, slot.node, [&slot, wording](const ShapeErrors& write) {
      return (write.*wording)(slot);
    });
  }

  void MarkWrongCover(int stage, int i) {
    const CoverRule& cover = rules().covers[i];
    wrong_covers_[i] = true;
    Report(stage, cover.node,
           [&cover](const ShapeErrors& write) { return write.Covers(cover); });
  }

  void CoverRanks() {
    for (const CoverRule& cover : rules().covers) {
      ranks_.Cover(problem_.RowIndex(cover.covering),
                   problem_.RowIndex(cover.covered),
                   IsNumberLike(graph_[cover.covered.tensor].source) ||
                       Stretches(graph_[cover.node]));
    }
    for (int failed : ranks_.Solve()) MarkWrongCover(0, failed);
    for (size_t i = 0; i < rules().slots.size(); ++i) {
      const SlotRule& slot = rules().slots[i];
      bool is_short =
          ranks_.Length(problem_.RowIndex(slot.row)) < slot.axes->size();
      if (!is_short || wrong_slots_[i]) continue;
      MarkWrongSlot(i, &ShapeErrors::Rank);
    }
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

  // The axes of the row as the spec of its operation names them.
  std::vector<EinsumAxis> Names(const SlotRule& slot) const {
    size_t rank = axes_[problem_.RowIndex(slot.row)].size();
    return ExpandRow(*slot.axes, static_cast<int>(rank), slot.place);
  }

  // A result that is written at one position ends there.
  void SetWrittenPositions() {
    for (size_t i = 0; i < rules().slots.size(); ++i) {
      const SlotRule& slot = rules().slots[i];
      if (wrong_slots_[i] || !(slot.row.tensor == slot.node)) continue;
      std::vector<EinsumAxis> names = Names(slot);
      for (size_t k = 0; k < names.size(); ++k) {
        if (!names[k].is_position()) continue;
        int64_t size = names[k].position + 1;
        sizes_.Set(axes_[problem_.RowIndex(slot.row)][k], size, size == 1);
      }
    }
  }

  void SlotSizes() {
    absl::flat_hash_map<std::string, int> axes;  // of one node
    for (size_t i = 0; i < rules().slots.size(); ++i) {
      const SlotRule& slot = rules().slots[i];
      if (slot.place == 0) axes.clear();
      if (wrong_slots_[i]) continue;
      const std::vector<int>& row = axes_[problem_.RowIndex(slot.row)];
      std::vector<EinsumAxis> names = Names(slot);
      for (int k = 0; k < static_cast<int>(row.size()); ++k) {
        if (names[k].is_position()) {
          positions_.push_back({i, k, names[k].position + 1});
          continue;
        }
        if (!names[k].is_plain()) {
          RelateAxis(i, k, names[k], axes);
          continue;
        }
        const std::string& name = names[k].name;
        int same = axes.try_emplace(name, row[k]).first->second;
        size_rules_.AddAxis(slot.node, name, same);
        if (sizes_.Equate(same, row[k])) continue;
        Report(1, slot.node, [&slot, k, name](const ShapeErrors& write) {
          return write.Size(slot, k, name);
        });
      }
      AddSlicePosition(i);
    }
    for (const SizeRule* rule : size_rules_.SetSizes(ranks_, sizes_)) {
      MarkWrongRule(1, *rule);
    }
  }

  // Axis `k` of slot `i` has a size that comes from `axes`.
  void RelateAxis(size_t i, int k, const EinsumAxis& axis,
                  absl::flat_hash_map<std::string, int>& axes) {
    related_.push_back({.slot = i, .axis = k, .form = axis});
    const SlotRule& slot = rules().slots[i];
    for (const std::string* name : related_.back().form.Names()) {
      auto [at, is_new] = axes.try_emplace(*name, -1);
      if (is_new) at->second = sizes_.AddName();
      size_rules_.AddAxis(slot.node, *name, at->second);
      names_[slot.node][*name] = at->second;
    }
    SizeEquation equation = EquationOf(axis);
    std::vector<SizeSystem::Part> parts;
    for (const auto& [name, factor] : equation.terms) {
      parts.push_back({.axis = axes.at(name), .factor = factor});
    }
    sizes_.Relate(axes_[problem_.RowIndex(slot.row)][k], std::move(parts),
                  equation.constant);
  }

  // A slice reads its operand's first batch axis at the whole static range.
  void AddSlicePosition(size_t i) {
    const SlotRule& slot = rules().slots[i];
    const auto* slice = std::get_if<SliceSource>(&graph_[slot.node].source);
    if (slice == nullptr || slot.place != 0) return;
    const auto& range = graph_.statics()[slice->static_index].range;
    if (range) positions_.push_back({i, 0, *range});
  }

  void CoverSizes() {
    for (const Position& position : positions_) {
      const SlotRule& slot = rules().slots[position.slot];
      sizes_.AtLeast(axes_[problem_.RowIndex(slot.row)][position.axis],
                     position.at_least);
    }
    size_rules_.SetBounds(sizes_);
    std::vector<int> rule_of;  // each pair of axes
    for (size_t i = 0; i < rules().covers.size(); ++i) {
      if (wrong_covers_[i]) continue;
      const CoverRule& cover = rules().covers[i];
      const std::vector<int>& large = axes_[problem_.RowIndex(cover.covering)];
      const std::vector<int>& small = axes_[problem_.RowIndex(cover.covered)];
      for (size_t k = 1; k <= std::min(small.size(), large.size()); ++k) {
        sizes_.Cover(large[large.size() - k], small[small.size() - k]);
        rule_of.push_back(static_cast<int>(i));
      }
    }
    SizeSystem::Unsatisfiable unsatisfiable = sizes_.Solve();
    for (int pair : unsatisfiable.covers) MarkWrongCover(1, rule_of[pair]);
    for (size_t k : unsatisfiable.at_least) {
      // Those of the rules come after the positions.
      if (k >= positions_.size()) {
        MarkWrongRule(1, *size_rules_.bounds()[k - positions_.size()]);
        continue;
      }
      const Position position = positions_[k];
      const SlotRule& slot = rules().slots[position.slot];
      Report(1, slot.node, [&slot, position](const ShapeErrors& write) {
        return write.Position(slot, position.axis, position.at_least);
      });
    }
    for (const auto& relation : unsatisfiable.relations) {
      MarkWrongRelation(relation.first, relation.second);
    }
  }

  // Those of the rules come after the axes, then those of reshapes.
  void MarkWrongRelation(size_t k, const std::vector<int64_t>& sizes) {
    const size_t rule = k - related_.size();
    if (k < related_.size()) {
      const RelatedAxis& related = related_[k];
      const SlotRule& slot = rules().slots[related.slot];
      Report(1, slot.node, [&slot, &related, sizes](const ShapeErrors& write) {
        return write.Relation(slot, related.axis, related.form, sizes);
      });
    } else if (rule < size_rules_.relations().size()) {
      MarkWrongRule(1, *size_rules_.relations()[rule]);
    } else {
      const TensorId id = reshapes_[rule - size_rules_.relations().size()];
      Report(1, id,
             [id](const ShapeErrors& write) { return write.Reshape(id); });
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
      if (!IsParameter(id)) continue;
      for (RowKind kind : kRowKinds) {
        RowRef row = {id, kind};
        Dims sizes = Sizes(row);
        if (ranks_.IsDetermined(problem_.RowIndex(row)) &&
            std::count(sizes.begin(), sizes.end(), 0) == 0) {
          continue;
        }
        Report(2, id, [row](const ShapeErrors& write) {
          return write.Undetermined(row);
        });
      }
    }
  }

  // A result is as large as its operands make it, whatever its uses say.
  void CheckResults() {
    auto sizes_of = [this](RowRef row) { return Sizes(row); };
    for (EnlargedRow& enlarged : EnlargedRows(graph_, problem_, sizes_of)) {
      const RowRef row = enlarged.row;
      made_[problem_.RowIndex(row)] = std::move(enlarged.made);
      Report(2, row.tensor,
             [row, used_as = Sizes(row)](const ShapeErrors& write) {
               return write.Enlarged(row, used_as);
             });
    }
  }

  // What no operand has gets its size from elsewhere.
  void CheckOwnNames() {
    for (const SpecName& own : own_names_) {
      if (!size_rules_.IsOpen(own, sizes_)) continue;
      Report(2, own.node,
             [&own](const ShapeErrors& write) { return write.OwnName(own); });
    }
  }

  bool IsParameter(TensorId id) const {
    return std::holds_alternative<ParamSource>(graph_[id].source);
  }

  const Graph& graph_;
  Problem problem_;
  std::vector<bool> wrong_covers_, wrong_slots_;
  const std::vector<SpecName> own_names_;
  SizeRules size_rules_;
  RankSystem ranks_;
  std::vector<std::vector<int>> axes_;  // in sizes_, of each row
  SizeSystem sizes_;
  std::vector<Position> positions_;
  std::vector<RelatedAxis> related_;  // of each relation
  std::vector<TensorId> reshapes_;    // of each of theirs
  // In sizes_, of the names in `related_`, by operation.
  absl::flat_hash_map<TensorId, absl::flat_hash_map<std::string, int>> names_;
  absl::flat_hash_map<int, Dims> made_;  // of results that uses enlarge
  ErrorMaker error_;
  int error_stage_ = 0;
  TensorId error_node_;
};

}  // namespace

std::string ToString(const Shapes& shapes, TensorId tensor) {
  auto bases = shapes.bases.find(tensor);
  return ToString(shapes.at(tensor),
                  bases == shapes.bases.end() ? Bases() : bases->second);
}

absl::Status InferShapes(Graph& graph, absl::Span<const TensorId> roots,
                         Shapes& shapes, int64_t* steps) {
  OCANNL_ASSIGN_OR_RETURN(Problem problem, MakeProblem(graph, roots, shapes));
  Inference inference(graph, std::move(problem));
  absl::Status status = inference.Run();
  if (steps != nullptr) *steps += inference.steps();
  OCANNL_RETURN_IF_ERROR(status);
  return inference.AddTo(shapes);
}

}  // namespace ocannl
