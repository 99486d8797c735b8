// SPDX-License-Identifier: Apache-2.0
//
// SizeRules: what SetDim, SetEqual and the like say, as equations of an
// inference; and the axes of the names whose sizes are captured.
#ifndef OCANNL_CORE_SHAPE_SIZE_RULES_H_
#define OCANNL_CORE_SHAPE_SIZE_RULES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "ocannl/core/shape/rank.h"
#include "ocannl/core/shape/size.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

class SizeRules {
 public:
  // Those of `graph` about `nodes`; the graph must outlive it. `others` are
  // names that AxesOf is asked for beside theirs.
  SizeRules(const Graph& graph, const absl::flat_hash_map<TensorId, int>& nodes,
            absl::Span<const SpecName> others = {});

  // What stands for a name in the systems below. Specs without a name that is
  // asked for are left out.
  void AddRow(TensorId node, const std::string& variable, int row);
  void AddAxis(TensorId node, const std::string& name, int axis);

  // Both return the rules that contradict; the first before anything is solved,
  // the other before sizes are.
  std::vector<const SizeRule*> SetRanks(RankSystem& ranks);
  std::vector<const SizeRule*> SetSizes(const RankSystem& ranks,
                                        SizeSystem& sizes);
  // After the last Equate.
  void SetBounds(SizeSystem& sizes);
  // The rules that are calls of Relate or Multiply, and of AtLeast, in order.
  const std::vector<const SizeRule*>& relations() const { return relations_; }
  const std::vector<const SizeRule*>& bounds() const { return bounds_; }

  // In the system of sizes; after SetSizes.
  std::vector<int> AxesOf(const SpecName& name) const;
  // Whether no rule and nothing in `sizes`, which are solved, says how large it
  // is.
  bool IsOpen(const SpecName& name, const SizeSystem& sizes) const;

 private:
  std::vector<int> OthersOf(const SizeRule& rule, SizeSystem& sizes) const;

  std::vector<const SizeRule*> rules_, relations_, bounds_;
  absl::flat_hash_set<TensorId> nodes_;  // that the rules name
  absl::flat_hash_map<TensorId, absl::flat_hash_map<std::string, int>> rows_,
      axes_;
  absl::flat_hash_map<TensorId, absl::flat_hash_map<std::string, int>> lengths_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_SIZE_RULES_H_
