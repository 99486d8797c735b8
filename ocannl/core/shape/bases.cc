// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/bases.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/shape/unifier.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {
namespace {

constexpr absl::string_view kDefault = "default";

// An axis of a row.
struct Place {
  RowRef row;
  int axis;
};

class BasisInference {
 public:
  BasisInference(const Graph& graph, const Problem& problem,
                 const std::vector<std::vector<int>>& axes,
                 const SizeSystem& sizes)
      : graph_(graph), problem_(problem), axes_(axes), sizes_(sizes) {}

  absl::Status Run(const TensorBases& given) {
    int count = 0;
    for (const auto& row : axes_) {
      for (int axis : row) count = std::max(count, axis + 1);
    }
    while (bases_.size() < count) bases_.Add();
    for (TensorId id : problem_.nodes) Give(id, given);
    OCANNL_RETURN_IF_ERROR(Slots());
    return Covers();
  }

  // After Run.
  void AddTo(TensorBases& bases) const {
    for (TensorId id : problem_.nodes) {
      Bases of_tensor;
      bool any = false;
      for (RowKind kind : kRowKinds) {
        for (int axis : Row({id, kind})) {
          const std::string& basis = bases_[axis];
          const bool is_default = basis == kDefault;
          any = any || (!is_default && !basis.empty());
          of_tensor[static_cast<int>(kind)].push_back(is_default ? "" : basis);
        }
      }
      if (any) bases.try_emplace(id, std::move(of_tensor));
    }
  }

 private:
  const std::vector<int>& Row(RowRef row) const {
    return axes_[problem_.RowIndex(row)];
  }

  void Give(TensorId id, const TensorBases& given) {
    auto earlier = given.find(id);
    for (RowKind kind : kRowKinds) {
      const ProblemRow& row = problem_.rows[problem_.RowIndex({id, kind})];
      if (!row.sizes) continue;
      const Bases& said =
          earlier == given.end() ? *graph_[id].spec->bases : earlier->second;
      const auto& of_row = said[static_cast<int>(kind)];
      for (size_t k = 0; k < row.sizes->size(); ++k) {
        const bool has_basis = k < of_row.size() && !of_row[k].empty();
        if (!has_basis && row.broadcastable && (*row.sizes)[k] == 1) continue;
        bases_[Row({id, kind})[k]] =
            has_basis ? of_row[k] : std::string(kDefault);
      }
    }
  }

  absl::Status Slots() {
    absl::flat_hash_map<std::string, Place> names;  // of one node
    for (const SlotRule& slot : problem_.rules.slots) {
      if (slot.place == 0) names.clear();
      // A first value takes the bases of its parameter.
      if (std::holds_alternative<ParamSource>(graph_[slot.node].source)) {
        continue;
      }
      const auto rank = static_cast<int>(Row(slot.row).size());
      std::vector<EinsumAxis> axes = ExpandRow(*slot.axes, rank, slot.place);
      for (int k = 0; k < rank; ++k) {
        const Place here = {slot.row, k};
        for (const std::string* name : axes[k].Names()) {
          const Place first = names.try_emplace(*name, here).first->second;
          OCANNL_RETURN_IF_ERROR(Equate(slot.node, first, here));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Covers() {
    for (const CoverRule& cover : problem_.rules.covers) {
      if (std::holds_alternative<ParamSource>(graph_[cover.node].source)) {
        continue;
      }
      const auto large = static_cast<int>(Row(cover.covering).size());
      const auto small = static_cast<int>(Row(cover.covered).size());
      for (int k = 1; k <= std::min(large, small); ++k) {
        if (sizes_.IsBroadcastable(Row(cover.covered)[small - k])) continue;
        OCANNL_RETURN_IF_ERROR(Equate(cover.node, {cover.covering, large - k},
                                      {cover.covered, small - k}));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Equate(TensorId node, Place a, Place b) {
    const int of_a = Row(a.row)[a.axis], of_b = Row(b.row)[b.axis];
    auto merge = [](std::string& to, const std::string& from, int) {
      if (to.empty()) to = from;
      return from.empty() || to == from;
    };
    if (bases_.Unify(of_a, of_b, 0, merge)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "shape error in ", Describe(graph_[node]), ": different bases: ",
        Text(a), " is in ", bases_[of_a], ", ", Text(b), " in ", bases_[of_b],
        "\n  hint: give axes that go together one basis"));
  }

  std::string Text(Place place) const {
    const TensorNode& node = graph_[place.row.tensor];
    return absl::StrCat(
        "axis ", place.axis, " of the ", Name(place.row.kind), " row of ",
        node.named ? node.name : absl::StrCat("`", node.text, "`"));
  }

  const Graph& graph_;
  const Problem& problem_;
  const std::vector<std::vector<int>>& axes_;
  const SizeSystem& sizes_;
  Unifier<std::string> bases_;  // empty: not known
};

}  // namespace

absl::Status InferBases(const Graph& graph, const Problem& problem,
                        const std::vector<std::vector<int>>& axes,
                        const SizeSystem& sizes, TensorBases& bases) {
  const bool any = absl::c_any_of(problem.nodes, [&](TensorId id) {
    return *graph[id].spec->bases != Bases() || bases.contains(id);
  });
  if (!any) return absl::OkStatus();
  BasisInference inference(graph, problem, axes, sizes);
  OCANNL_RETURN_IF_ERROR(inference.Run(bases));
  inference.AddTo(bases);
  return absl::OkStatus();
}

}  // namespace ocannl
