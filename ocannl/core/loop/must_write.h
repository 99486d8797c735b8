// SPDX-License-Identifier: Apache-2.0
//
// MustWriteRegions: the cells of the buffers that a walk over a program has
// definitely written, as regular sections (boxes with affine bounds; Havlak and
// Kennedy 1991). They have strides on each axis (core/index/lmad.h), and are
// joined only if the union is a box itself.
//
//   for i0 = 0 to 3 {
//     vec i1 = 0 to 4 { t[8*i0 + i1] := 1; }      then 8*i0 + [0, 5)
//   }                                             {0, 8, 16, 24} + [0, 5)
//   for i2 = 0 to 3 {
//     vec i3 = 0 to 2 { t[8*i2 + i3 + 5] := 1; }  8*i2 + 5 + [0, 3)
//   }                                             [0, 32): tiles of a flat
//   array
//
// A must analysis, so it is conservative: cells that it reports are written.
// Some programs that write cells in a shape that is not a box are rejected.
#ifndef OCANNL_CORE_LOOP_MUST_WRITE_H_
#define OCANNL_CORE_LOOP_MUST_WRITE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ocannl/core/index/lmad.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

class MustWriteRegions {
 public:
  // Nothing is written yet. The loops that are entered outlive this object, as
  // does the program, which may get more buffers; indices are in bounds.
  explicit MustWriteRegions(const LoopProgram& program);

  void Enter(const For& loop);
  void Leave();  // the loop that was entered last

  void Write(const Access& cell);
  void WriteAll(BufferId buffer);

  // Whether the cell is written at this point of the walk, in every iteration
  // of the loops around. What a `private` buffer holds does not pass into, out
  // of or between the iterations of a `par` loop.
  bool Covers(const Access& cell) const;
  // The same of every cell that may be looked up.
  bool Covers(const Lookup& lookup) const;
  bool CoversAll(BufferId buffer) const;

 private:
  // One set of places an axis. If several axes depend on an iterator of a loop
  // that has ended, it stays and stands for all of its values. The cells are
  // then those of the boxes of all values.
  using Box = std::vector<Lmad>;
  // An iteration of `loop`; the outermost scope has no loop.
  struct Scope {
    const For* loop = nullptr;
    std::vector<BufferId> buffers;  // that it has written
  };
  struct Written {
    size_t depth;  // how many scopes it is in
    Box box;
  };

  int64_t Range(Symbol symbol) const;
  bool Contains(const Box& outer, const Box& inner) const;
  static bool Holds(const Box& outer, const Box& inner);
  bool CoversBox(BufferId buffer, const Box& box) const;
  bool CoveredBy(absl::Span<const Written> written, const Box& box, size_t cuts,
                 int& steps) const;
  bool CoveredAlong(size_t axis, absl::Span<const Written> written,
                    const Box& box, size_t cuts, int& steps) const;
  static void Project(const For& loop, Box& box);
  static bool Join(const Box& other, Box& box);
  std::vector<Written>& Of(BufferId buffer);
  void Add(BufferId buffer, Box box);
  bool IsForGood(BufferId buffer) const;
  void ForgetPrivate();
  Box BoxOf(const Access& cell) const;
  bool IsWhole(BufferId buffer) const {
    return buffer < whole_.next_id() && whole_[buffer];
  }
  void SetWhole(BufferId buffer);
  Box Everything(BufferId buffer) const;

  const LoopProgram& program_;
  // Buffers all of which is written, by one statement outside of loops: most of
  // many small nests. No box is kept of them.
  IdVector<BufferId, bool> whole_;
  absl::flat_hash_map<IteratorId, int64_t> extents_;  // of every loop so far
  std::vector<Scope> scopes_;
  // Of buffers that were written; those of outer scopes first.
  absl::flat_hash_map<BufferId, std::vector<Written>> boxes_;
  std::vector<BufferId> privates_;  // that have boxes_
};

// Makes those of the `out` buffers `buffers` `inout` of which `program` leaves
// some cells as they were, or reads cells that it has not written.
void KeepUnwritten(absl::Span<const BufferId> buffers, LoopProgram& program);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_MUST_WRITE_H_
