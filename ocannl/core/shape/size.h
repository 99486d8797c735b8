// SPDX-License-Identifier: Apache-2.0
//
// SizeSystem: the size of each axis, from equations and broadcasting.
//
//   y covers x   ->   x = y, or x is broadcastable: 1, and nobody gave it
//   y follows x  ->   a y of size 1 is broadcastable if each such x is
//   x = 2 * y + k - 2, as windows demand   ->   each from the others
//
// Equations of two axes are solved by union-find (unifier.h), the others by
// constraint propagation with a worklist: a relation with one unknown
// determines it. As in RankSystem, a computed axis has the size that the axes
// that it covers demand. A leaf's axis has the size of the axes that cover it,
// or is a broadcastable 1 if these differ.
#ifndef OCANNL_CORE_SHAPE_SIZE_H_
#define OCANNL_CORE_SHAPE_SIZE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ocannl/core/shape/rank.h"
#include "ocannl/core/shape/unifier.h"

namespace ocannl {

// Of a number of windows.
enum class Rounding : uint8_t { kNone, kDown, kUp };

class SizeSystem {
 public:
  // A new axis; they are numbered from 0.
  int Add(RowRole role);
  // The size of a name, until it is equated with an axis of an array. A part of
  // a concatenation that no array has may be empty: of size 0.
  int AddName();
  // The size is given. Before any Equate. A broadcastable 1 stays so, also
  // where it is equated with a 1 that is given: uses do not change a result.
  void Set(int axis, int64_t size, bool broadcastable);
  // The result's axis is made of that of an operand.
  void Follow(int result, int operand);
  // False, and nothing done, if the sizes are known and differ.
  bool Equate(int a, int b);
  // size(axis) >= size; after every Equate.
  void AtLeast(int axis, int64_t size);
  void Cover(int covering, int covered);
  // size(whole) = constant + the sum of factor * size(axis) over `parts`.
  struct Part {
    int axis;
    int64_t factor;
  };
  // With a rounding, the first part is a number of windows: the solution of the
  // equation for the given sizes of the others, rounded. If it is rounded up,
  // only windows count that start in the axis or in the `before` cells before
  // it. A whole that no other relation determines is exact.
  void Relate(int whole, std::vector<Part> parts, int64_t constant,
              Rounding rounding = Rounding::kNone, int64_t before = 0);
  // size(whole) = the product of the sizes of `axes`; counts as a Relate.
  void Multiply(int whole, absl::Span<const int> axes);

  // The calls of Cover, of AtLeast and of Relate that are not satisfied, by
  // number from 0. For calls of Relate, also the sizes of the parts at that
  // time.
  struct Unsatisfiable {
    std::vector<int> covers, at_least;
    std::vector<std::pair<int, std::vector<int64_t>>> relations;
  };
  // Determines every axis.
  Unsatisfiable Solve();

  // What Solve has looked at: classes, covers and relations, again each time.
  int64_t steps() const { return steps_; }

  // 0 if unknown: after Solve, a parameter's axis and what depends on it.
  int64_t Size(int axis) const { return classes_[axis].size; }
  // Whether the axis is of a size of 1 that nobody gave.
  bool IsBroadcastable(int axis) const {
    const Class& c = classes_[axis];
    return c.broadcastable || (c.size == 1 && made_[axis] == Made::kOne);
  }

 private:
  struct Class {
    RowRole role = RowRole::kComputed;
    int64_t size = 0;
    bool broadcastable = false;
    int64_t at_least = 1;
    int64_t by_use = 0;  // what the covering axes are; 1 if they differ
    bool covers_broadcastable = false;
    bool is_name = false;  // of no array
    bool empty = false;    // a part without cells: `size` is 0
    int open = 0;          // covered axes whose size is unknown
    // The covers in which it is the larger, and the smaller.
    absl::InlinedVector<int, 2> covering, covered;
    std::vector<int> relations;
  };
  struct Relation {
    std::vector<Part> parts;  // constant + their sum = 0
    int64_t constant;
    Rounding rounding = Rounding::kNone;
    int64_t before = 0;
    bool multiplies = false;  // the last part is the product of the others
    bool done = false;        // it holds
    bool failed = false;
    std::vector<int64_t> sizes = {};  // of the parts when it failed

    // Windows, the other sums of two, have a constant below 0.
    bool is_concatenation() const {
      return !multiplies && constant == 0 && parts.size() > 2;
    }
  };
  struct CoverEdge {
    int covering, covered;
    bool failed = false;
  };
  struct Bound {
    int axis;
    int64_t size;
  };

  void Assign(int axis, int64_t size, bool broadcastable);
  void Connect();
  void FollowOnes();
  void Propagate();
  void PropagateUp(int root);
  void PropagateDown(int root);
  void Propagate(Relation& relation);
  void PropagateProduct(Relation& relation);
  void PropagateRounded(Relation& relation);
  void AssignEmpty(int axis);
  void Fail(Relation& relation);
  bool IsOpen(const Class& c) const;
  std::vector<int> OpenParts(const Relation& relation) const;
  void FailOpenWindows();
  // What is assumed of axes that nothing determines, in this order. Each says
  // whether it assigned a size.
  bool AssignUsedLeaves();
  bool AssignAtLeast();
  bool AssignFreeLeaves();
  bool AssignCovering();
  bool AssignRelatedByUse();
  bool AssignRoundedWholes();
  bool AssignEmptyParts();
  bool AssignRest();
  static constexpr bool (SizeSystem::*kDefaults[])() = {
      &SizeSystem::AssignUsedLeaves,   &SizeSystem::AssignAtLeast,
      &SizeSystem::AssignFreeLeaves,   &SizeSystem::AssignCovering,
      &SizeSystem::AssignRelatedByUse, &SizeSystem::AssignRoundedWholes,
      &SizeSystem::AssignEmptyParts,   &SizeSystem::AssignRest};

  Unifier<Class> classes_;
  // What the definition of an axis makes of it, whatever its uses say.
  enum class Made : uint8_t { kUnknown, kOne, kOther };  // a broadcastable 1
  std::vector<Made> made_;
  std::vector<std::pair<int, int>> follows_;  // results and operands
  std::vector<CoverEdge> covers_;
  std::vector<Bound> bounds_;
  std::vector<Relation> relations_;
  std::vector<int> queue_;  // classes to visit
  std::vector<int> used_;   // leaves whose by_use is new
  mutable int64_t steps_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_SIZE_H_
