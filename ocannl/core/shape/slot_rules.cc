// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/slot_rules.h"

#include <utility>
#include <variant>

namespace ocannl {

void SlotRules::PutAside(const SlotRule& slot,
                         absl::Status (ShapeErrors::*wording)(const SlotRule&)
                             const) {
  wrong_.insert(&slot);
  error_.Report(slot.node, wording, slot);
}

void SlotRules::SetRanks(RankSystem& ranks) {
  Names variables;  // of one node
  for (const SlotRule& slot : problem_.rules.slots) {
    if (slot.place == 0) variables.clear();
    const int row = problem_.RowIndex(slot.row);
    // A number has no more axes than it must.
    if (problem_.rows[row].broadcastable) ranks.Prefer(row, slot.axes->size());
    bool fits;
    if (slot.axes->variable) {
      auto [at, is_new] = variables.try_emplace(*slot.axes->variable, -1);
      if (is_new) at->second = ranks.Add(RowRole::kComputed);
      named_.AddRow(slot.node, *slot.axes->variable, at->second);
      fits = ranks.SetDifference(row, at->second, slot.axes->size());
      if (!fits && !ranks.HasLength(row)) {
        PutAside(slot, &ShapeErrors::OccursCheck);
        continue;
      }
    } else {
      fits = ranks.SetLength(row, slot.axes->size());
    }
    if (!fits) PutAside(slot, &ShapeErrors::Rank);
  }
}

void SlotRules::CheckRanks(const RankSystem& ranks) {
  for (const SlotRule& slot : problem_.rules.slots) {
    const int rank = ranks.Length(problem_.RowIndex(slot.row));
    if (rank >= slot.axes->size() || wrong_.contains(&slot)) continue;
    PutAside(slot, &ShapeErrors::Rank);
  }
}

// A result that is written at one position ends there.
void SlotRules::SetWrittenPositions(absl::Span<const std::vector<int>> axes,
                                    SizeSystem& sizes) {
  for (const SlotRule& slot : problem_.rules.slots) {
    if (wrong_.contains(&slot) || !(slot.row.tensor == slot.node)) continue;
    const std::vector<int>& row = axes[problem_.RowIndex(slot.row)];
    const std::vector<EinsumAxis> names =
        ExpandRow(*slot.axes, static_cast<int>(row.size()), slot.place);
    for (size_t k = 0; k < names.size(); ++k) {
      if (!names[k].is_position()) continue;
      const int64_t size = names[k].position + 1;
      sizes.Set(row[k], size, size == 1);
    }
  }
}

void SlotRules::SetSizes(absl::Span<const std::vector<int>> axes,
                         SizeSystem& sizes) {
  SetWrittenPositions(axes, sizes);
  Names same;  // of one node
  absl::flat_hash_map<std::string, std::vector<int>> operands;
  for (const SlotRule& slot : problem_.rules.slots) {
    if (slot.place == 0) {
      same.clear();
      operands.clear();
    }
    if (wrong_.contains(&slot)) continue;
    const std::vector<int>& row = axes[problem_.RowIndex(slot.row)];
    const std::vector<EinsumAxis> names =
        ExpandRow(*slot.axes, static_cast<int>(row.size()), slot.place);
    for (int k = 0; k < static_cast<int>(row.size()); ++k) {
      if (names[k].is_position()) {
        bounds_.push_back({&slot, k, row[k], names[k].position + 1});
        continue;
      }
      if (!names[k].is_plain()) {
        relations_.push_back({&slot, k, names[k]});
        Relate(relations_.back(), row[k], same, sizes);
        continue;
      }
      const std::string& name = names[k].name;
      const int axis = same.try_emplace(name, row[k]).first->second;
      named_.AddAxis(slot.node, name, axis);
      std::vector<int>& of_name = operands[name];
      if (slot.row.tensor == slot.node) {
        for (int operand : of_name) sizes.Follow(row[k], operand);
      } else {
        of_name.push_back(row[k]);
      }
      if (sizes.Equate(axis, row[k])) continue;
      error_.Report(slot.node, &ShapeErrors::Size, slot, k, name);
    }
    // A slice reads its operand's first batch axis at the whole static range.
    const auto* slice = std::get_if<SliceSource>(&graph_[slot.node].source);
    if (slice == nullptr || slot.place != 0) continue;
    const auto& range = graph_.statics()[slice->static_index].range;
    if (range) bounds_.push_back({&slot, 0, row[0], *range});
  }
}

// The axis `whole` has a size that comes from those of `names`.
void SlotRules::Relate(Relation& relation, int whole, Names& names,
                       SizeSystem& sizes) {
  const TensorId node = relation.slot->node;
  for (const std::string* name : relation.form.Names()) {
    auto [at, is_new] = names.try_emplace(*name, -1);
    if (is_new) at->second = sizes.AddName();
    named_.AddAxis(node, *name, at->second);
    names_[node][*name] = at->second;
  }
  const SizeEquation equation = EquationOf(relation.form);
  std::vector<SizeSystem::Part> parts;
  for (const auto& [name, factor] : equation.terms) {
    parts.push_back({.axis = names.at(name), .factor = factor});
  }
  sizes.Relate(whole, std::move(parts), equation.constant, equation.rounding,
               equation.before);
}

void SlotRules::SetBounds(SizeSystem& sizes) {
  for (const Bound& bound : bounds_) sizes.AtLeast(bound.id, bound.at_least);
}

}  // namespace ocannl
