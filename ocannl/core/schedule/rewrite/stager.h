// SPDX-License-Identifier: Apache-2.0
//
// Stager: puts a copy of the cells that a loop touches in their place.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_STAGER_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_STAGER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::rewrite {

// How the axes of an access depend on one loop.
struct AxisMap {
  std::vector<int64_t> factors;  // by axis
  int64_t extent;
  IteratorId iterator;
  LoopKind kind;  // of the loop of a copy that does what it does

  bool IsLike(const AxisMap& other) const {
    return factors == other.factors && extent == other.extent;
  }
};

// An access as a loop-invariant base and the axis maps of the loops inside,
// outer loops first.
struct Cells {
  Indices base;
  std::vector<AxisMap> moves;
};

// The axes of a copy; by how much each move moves along each of them.
struct CopyLayout {
  Dims dims;
  std::vector<std::vector<int64_t>> steps;  // by move, by axis
};

class Stager {
 public:
  // `loop` is one of the program's, or made of statements of it. With loops
  // `along` which, accesses that depend on none of these stay as they are.
  Stager(LoopProgram* program, BufferId buffer, For loop,
         absl::Span<const IteratorId> along = {});

  // Finds the accesses. Error: they differ in how they depend on the loops, or
  // two elements of the copy would be one of the buffer.
  absl::Status Collect();

  // Of the accesses, after Collect.
  const Cells& cells() const { return *cells_; }

  // Makes the loop work on a copy. By default each move is an axis of it.
  void UseCopy(const std::string& name, Role role);
  void UseCopy(const std::string& name, Role role, CopyLayout layout);

  // Whether the loop writes what it and a copy back read of the copy.
  bool FillsItself();

  const For& loop() const { return loop_; }
  // The accesses are not to be looked at any more.
  For TakeLoop() { return std::move(loop_); }
  bool writes() const { return writes_; }
  Access CopyAt(const std::vector<Affine>& moves) const;
  Access OriginalAt(const std::vector<Affine>& moves) const;

  // Loops over copy[...] := buffer[...], or back.
  Stmt CopyLoops(bool into_copy);

 private:
  const std::string& name() const { return program_.buffers[buffer_].name; }
  bool IsInside(Symbol symbol) const;
  bool IsStaged(const Access& access) const;
  Cells CellsOf(const Access& access) const;
  absl::Status Add(const Access& access);
  Access InCopy(const Access& access) const;
  bool IsOneToOne() const;

  LoopProgram& program_;
  const BufferId buffer_;
  For loop_;
  const std::vector<IteratorId> along_;
  std::vector<const For*> loops_;  // it and those in it
  std::optional<Cells> cells_;     // of the first access
  // The accesses; by moves of cells_, the iterators that move them so.
  std::vector<std::pair<Access, std::vector<Affine>>> accesses_;
  bool writes_ = false;
  BufferId copy_;
  CopyLayout layout_;
};

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_STAGER_H_
