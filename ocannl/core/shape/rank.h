// SPDX-License-Identifier: Apache-2.0
//
// RankSystem: how many axes each row has, from equations and broadcasting.
//
//   rows w, x, y;  len(w) = len(x) + 1;  y covers x   ->   len(x) <= len(y)
//
// Unification: equations are solved by union-find with offsets (unifier.h),
// with an occurs check (Robinson 1965): len(a) = len(a) + 1 contradicts.
// Inequalities are solved by bounds propagation with a worklist. A computed row
// gets its least solution: as many axes as the rows that it covers demand. A
// leaf row gets the greatest: as many axes as the rows that cover it, so that
// it is as specific as its uses. Every step raises a bound, lowers one, or
// assigns a length: the cost is near linear, and it ends on every input.
#ifndef OCANNL_CORE_SHAPE_RANK_H_
#define OCANNL_CORE_SHAPE_RANK_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ocannl/core/shape/unifier.h"

namespace ocannl {

// How what nothing else determines is determined.
enum class RowRole : uint8_t {
  kComputed,   // by what it covers
  kLeaf,       // by its uses; else as small as possible
  kParameter,  // by its uses; else it is an error
};

class RankSystem {
 public:
  // Longer rows come from rows that cover each other in a circle: no tensor may
  // have so many axes.
  static constexpr int kMaxRank = 100;

  // A new row; they are numbered from 0.
  int Add(RowRole role);
  // len(row) = length; false, and nothing done, if it contradicts others.
  bool SetLength(int row, int length);
  // len(a) = len(b) + difference; likewise.
  bool SetDifference(int a, int b, int difference);
  // len(row) = length unless anything else tells.
  void Prefer(int row, int length) { preferred_.emplace_back(row, length); }
  // Whether the calls of SetLength tell the length.
  bool HasLength(int row) const { return classes_[row].length.has_value(); }
  // len(covering) >= len(covered). A broadcastable row, as that of a number,
  // has axes but does not determine how many the covering row has.
  void Cover(int covering, int covered, bool broadcastable);

  // Determines every row. Returns the calls of Cover, from 0, that are
  // unsatisfiable.
  std::vector<int> Solve();

  // Negative if equations say so. Before Solve: what is known, or the least.
  int Length(int row) const;
  // False for a parameter's row that nothing determines.
  bool IsDetermined(int row) const;
  // What Solve has looked at: classes and covers, again each time.
  int64_t steps() const { return steps_; }

 private:
  // Rows whose lengths differ by constants; lengths are those of the root.
  struct Class {
    RowRole role = RowRole::kComputed;
    int low = 0;
    std::optional<int> high;    // by its uses
    std::optional<int> length;  // determined
    bool known = false;         // something demands a length, or there is one
    bool queued = false;
    // The covers in which it is the larger, and the smaller.
    absl::InlinedVector<int, 2> covering, covered;
  };
  struct CoverEdge {
    int covering, covered;
    bool broadcastable;
    bool failed = false;
  };

  void Push(int root, std::vector<int>& queue);
  void Assign(int root, int length);  // a solution
  void RaiseLows();
  void RaiseLow(int edge);
  void LowerHighs();
  // What is assumed of rows that nothing determines, in this order. Each says
  // whether it assigned a length.
  bool AssignLeavesByUse();
  bool AssignPreferred();
  bool AssignFreeLeaves();
  static constexpr bool (RankSystem::*kDefaults[])() = {
      &RankSystem::AssignLeavesByUse, &RankSystem::AssignPreferred,
      &RankSystem::AssignFreeLeaves};

  Unifier<Class> classes_;
  std::vector<CoverEdge> covers_;
  std::vector<std::pair<int, int>> preferred_;  // rows and lengths
  std::vector<int> up_, down_, used_;           // classes to visit
  int64_t steps_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_RANK_H_
