// SPDX-License-Identifier: Apache-2.0
//
// SlotRules: what specs say of the rows in their slots, as equations of an
// inference. What cannot hold is reported and put aside.
//
//   ..v..|2*i+k->j   ->   len(x) = len(v) + 1,  size(x) = 2 * i + k - 2
#ifndef OCANNL_CORE_SHAPE_SLOT_RULES_H_
#define OCANNL_CORE_SHAPE_SLOT_RULES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "ocannl/core/shape/errors.h"
#include "ocannl/core/shape/problem.h"
#include "ocannl/core/shape/size_rules.h"

namespace ocannl {

class SlotRules {
 public:
  // An axis that is read at a position, or at the values of a static index.
  struct Bound {
    const SlotRule* slot;
    int axis, id;  // in the row, in the system of sizes
    int64_t at_least;
  };
  // An axis whose size comes from those of others.
  struct Relation {
    const SlotRule* slot;
    int axis;
    EinsumAxis form;
  };

  // Those of `problem`. Tells `named` what stands for the names in them.
  SlotRules(const Graph& graph, const Problem& problem, SizeRules& named,
            FirstError& error)
      : graph_(graph), problem_(problem), named_(named), error_(error) {}

  // Before anything is solved, and what is found then.
  void SetRanks(RankSystem& ranks);
  void CheckRanks(const RankSystem& ranks);
  // Before sizes are; `axes` has those of each row, in `sizes`. The bounds come
  // after the last Equate.
  void SetSizes(absl::Span<const std::vector<int>> axes, SizeSystem& sizes);
  void SetBounds(SizeSystem& sizes);

  // Those that are calls of AtLeast, and of Relate, in order.
  const std::vector<Bound>& bounds() const { return bounds_; }
  const std::vector<Relation>& relations() const { return relations_; }

  // In the system of sizes: the names in relations, by operation.
  using Names = absl::flat_hash_map<std::string, int>;
  const absl::flat_hash_map<TensorId, Names>& names() const { return names_; }

 private:
  void PutAside(const SlotRule& slot,
                absl::Status (ShapeErrors::*wording)(const SlotRule&) const);
  void SetWrittenPositions(absl::Span<const std::vector<int>> axes,
                           SizeSystem& sizes);
  void Relate(Relation& relation, int whole, Names& names, SizeSystem& sizes);

  const Graph& graph_;
  const Problem& problem_;
  SizeRules& named_;
  FirstError& error_;
  absl::flat_hash_set<const SlotRule*> wrong_;
  std::vector<Bound> bounds_;
  std::vector<Relation> relations_;
  absl::flat_hash_map<TensorId, Names> names_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_SLOT_RULES_H_
