// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/results.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"

namespace ocannl {
namespace {

// Makes `dims` cover `covered`, whose axes pair up from the right.
void Broadcast(const Dims& covered, Dims& dims) {
  if (covered.size() > dims.size()) {
    dims.insert(dims.begin(), covered.size() - dims.size(), 1);
  }
  for (size_t i = 1; i <= covered.size(); ++i) {
    int64_t& size = dims[dims.size() - i];
    size = std::max(size, covered[covered.size() - i]);
  }
}

}  // namespace

std::vector<EnlargedRow> EnlargedRows(
    const Graph& graph, const Problem& problem,
    absl::FunctionRef<Dims(RowRef)> sizes_of) {
  absl::flat_hash_set<TensorId> free;
  for (TensorId id : problem.nodes) {
    const auto* param = std::get_if<ParamSource>(&graph[id].source);
    if (param != nullptr) free.insert(id);
    if (param != nullptr && param->init) free.insert(*param->init);
    if (Stretches(graph[id])) free.insert(id);
  }
  std::vector<Dims> made(problem.rows.size());
  std::vector<RowRef> rows;
  for (const CoverRule& cover : problem.rules.covers) {
    if (!(cover.covering.tensor == cover.node)) continue;
    Broadcast(sizes_of(cover.covered), made[problem.RowIndex(cover.covering)]);
    if (!free.contains(cover.node)) rows.push_back(cover.covering);
  }
  std::vector<EnlargedRow> enlarged;
  for (RowRef row : rows) {
    const Dims& dims = made[problem.RowIndex(row)];
    if (sizes_of(row) != dims) enlarged.push_back({row, dims});
  }
  return enlarged;
}

std::vector<SpecName> OwnNames(const Graph& graph, const Problem& problem) {
  std::vector<SpecName> own;
  for (const SlotRule& slot : problem.rules.slots) {
    const EinsumSpec* spec = SpecOf(graph[slot.node].source);
    const int output = problem.RowIndex({slot.node, RowKind::kOutput});
    const bool is_given = problem.rows[output].sizes.has_value();
    if (slot.place != 0 || spec == nullptr || is_given) continue;
    absl::flat_hash_set<std::string> known;
    for (const EinsumSlot& operand : spec->operands) {
      for (std::string& name : NamesOf(operand)) known.insert(std::move(name));
    }
    ForEachAxis(spec->result, [&](const EinsumAxis& axis) {
      known.insert(axis.parts.begin(), axis.parts.end());
    });
    for (std::string& name : NamesOf(spec->result)) {
      if (known.insert(name).second)
        own.push_back({slot.node, std::move(name)});
    }
  }
  return own;
}

}  // namespace ocannl
