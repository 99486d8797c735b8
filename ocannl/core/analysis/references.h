// SPDX-License-Identifier: Apache-2.0
//
// What a block touches, and whether two references to one buffer may touch one
// cell under a direction vector: the tests behind dependence.h.
#ifndef OCANNL_CORE_ANALYSIS_REFERENCES_H_
#define OCANNL_CORE_ANALYSIS_REFERENCES_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/analysis/equation.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// A reference: an access in the text of the program.
struct Reference {
  BufferId buffer;
  const Access* access;  // null: all of the buffer
  bool writes;
  int stmt;                        // the number of its statement
  const Lookup* lookup = nullptr;  // whose cell it is, or null

  // On which the index has any value; -1: none.
  int any_axis() const { return lookup == nullptr ? -1 : lookup->axis; }
};

// The memory and locals that statements touch.
struct References {
  std::vector<Reference> all;
  bool sets_outer_local = false;
  bool straight_line = true;
};
// Of a block, or of a statement. They point into it and the program; reads
// point into the program alone.
References ReferencesOf(const LoopProgram& program, const Block& block);
References ReferencesOf(const LoopProgram& program, const Stmt& stmt);

// The statement and every one in it, a loop before its body.
void WalkStmts(const Stmt& stmt, absl::FunctionRef<void(const Stmt&)> visit);

// Every cell that `stmt` reads and, of one that is looked up, how; else null.
void WalkReadsAndLookups(
    const LoopProgram& program, const Stmt& stmt,
    absl::FunctionRef<void(const Access&, const Lookup*)> visit);

// The references of a list with which others of it may conflict: of the same
// buffer, one of the two a write. Equal references are tested once.
class ConflictCandidates {
 public:
  // `references` outlives this object.
  explicit ConflictCandidates(const std::vector<Reference>& references);

  // In their direction.
  absl::Span<const Reference* const> Of(const Reference& reference) const;

 private:
  struct OfBuffer {
    std::vector<const Reference*> all;
    std::vector<const Reference*> writes;
  };

  absl::flat_hash_map<BufferId, OfBuffer> known_;
};

// An entry of a direction vector: how the values of an iterator compare in the
// source and the sink of a dependence.
enum class Direction {
  kEqual,
  kLess,  // the source has the smaller value
  kGreater,
  kAny,
};
using DirectionOf = absl::FunctionRef<Direction(IteratorId)>;

class DependenceTester {
 public:
  // The tests are about statements in `loops`.
  DependenceTester(const LoopProgram& program,
                   std::initializer_list<const For*> loops);

  // Whether a dependence from `a` to `b` may exist under the direction vector.
  bool MayConflict(const Reference& a, const Reference& b,
                   DirectionOf direction);

 private:
  bool MayBeSame(const Reference& a, const Reference& b, DirectionOf direction);
  bool MayBeEqual(const Affine& a, const Affine& b, DirectionOf direction);
  void AddTerms(Symbol symbol, int64_t factor_a, int64_t factor_b,
                DirectionOf direction, std::vector<BoundedTerm>& terms);
  int64_t RangeOf(Symbol symbol);
  void AddExtent(const For& loop) { extents_[loop.iterator] = loop.extent; }

  const LoopProgram& program_;
  absl::flat_hash_map<IteratorId, int64_t> extents_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_ANALYSIS_REFERENCES_H_
