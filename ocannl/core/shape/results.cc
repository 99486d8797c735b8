// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/results.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/open_dtype.h"

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

// The number of cells, which 64 bits may not hold.
double CellsOf(TensorId id, absl::Span<const RowKind> rows, RowSizes sizes) {
  double cells = 1;
  for (RowKind row : rows) {
    for (int64_t size : sizes({id, row})) cells *= static_cast<double>(size);
  }
  return cells;
}

// After 2^32 cells the offsets of u32, those of random numbers, would repeat.
absl::Status CheckOffsets(const TensorNode& node, double cells) {
  if (node.dtype != DType::kU32 || cells <= 0x1p32) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "shape error in ", Describe(node), ": it has more than 2^32 cells, ",
      "where offsets of u32 repeat; draw the random numbers as several ",
      "tensors"));
}

}  // namespace

std::vector<EnlargedRow> EnlargedRows(const Graph& graph,
                                      const Problem& problem, RowSizes sizes) {
  std::vector<bool> is_free(problem.nodes.size());
  for (size_t k = 0; k < problem.nodes.size(); ++k) {
    const TensorNode& node = graph[problem.nodes[k]];
    const auto* param = std::get_if<ParamSource>(&node.source);
    if (param != nullptr || Stretches(node)) is_free[k] = true;
    if (param == nullptr || !param->init) continue;
    const auto init = problem.index.find(*param->init);
    if (init != problem.index.end()) is_free[init->second] = true;
  }
  std::vector<Dims> made(problem.rows.size());
  std::vector<std::pair<RowRef, int>> rows;  // and their numbers
  for (const CoverRule& cover : problem.rules.covers) {
    if (!(cover.covering.tensor == cover.node)) continue;
    const int row = problem.RowIndex(cover.covering);
    Broadcast(sizes(cover.covered), made[row]);
    if (!is_free[row / 3]) rows.emplace_back(cover.covering, row);
  }
  std::vector<EnlargedRow> enlarged;
  for (const auto& [row, number] : rows) {
    const Dims& dims = made[number];
    if (sizes(row) != dims) enlarged.push_back({row, dims});
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

absl::Status CheckNumbers(const Graph& graph, const Problem& problem,
                          RowSizes sizes,
                          absl::FunctionRef<Dims(const SpecName&)> name_sizes) {
  for (TensorId id : problem.nodes) {
    const TensorNode& node = graph[id];
    const auto* dim = std::get_if<DimSource>(&node.source);
    double greatest;
    // With a shape of its own it was checked when that was inferred.
    if (dim != nullptr && problem.index.contains(dim->of)) {
      greatest = dim->name.empty() ? CellsOf(dim->of, dim->rows, sizes)
                                   : static_cast<double>(NumElements(
                                         name_sizes({dim->of, dim->name})));
    } else if (std::holds_alternative<OffsetsSource>(node.source)) {
      const double cells = CellsOf(id, kRowKinds, sizes);
      OCANNL_RETURN_IF_ERROR(CheckOffsets(node, cells));
      // Those of u32 without a spec are words of random numbers.
      if (!node.spec[RowKind::kOutput] && node.dtype == DType::kU32) continue;
      greatest = cells - 1;
    } else {
      continue;
    }
    OCANNL_RETURN_IF_ERROR(CheckHolds(graph, id, greatest, problem.nodes));
  }
  return absl::OkStatus();
}

}  // namespace ocannl
