// SPDX-License-Identifier: Apache-2.0
//
// What the rewrites share: finding a loop, copying statements, errors.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_EDIT_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_EDIT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::rewrite {

// Lanes of a loop, each vector of which is code of its own.
inline constexpr int64_t kMostLanes = 1024;

// Where a loop is in a program.
struct LoopSite {
  Block* block = nullptr;
  size_t at = 0;
  std::vector<For*> around;  // the loops, outer first
  size_t nest = 0;           // the statement of the program's body it is in

  For& loop() const { return std::get<For>(block->stmts[at]); }
  bool in_body() const { return around.empty(); }  // of the program
  int depth() const { return static_cast<int>(around.size()); }
};

// Error: the loops that there are.
absl::StatusOr<LoopSite> FindLoop(LoopProgram& program, IteratorId iterator);

// Statements of a block, from the one at `first` to the one at `last`.
struct LoopRegion {
  Block* block;
  size_t first;
  size_t last;
  bool in_body;  // of the program

  // They are gone from the block but for empty ones, until Replace.
  std::vector<Stmt> Take() const;
  void Replace(std::vector<Stmt> stmts) const;
};

// From the loop `first` to the loop `last`. Error: others, or as of FindLoop.
absl::StatusOr<LoopRegion> FindRegion(LoopProgram& program, IteratorId first,
                                      IteratorId last);

// Error: the buffers that there are.
absl::StatusOr<BufferId> FindBuffer(LoopProgram& program,
                                    absl::string_view name);

// Replaces the symbols of all indices in the block.
void Substitute(LoopProgram& program, Block& block,
                absl::FunctionRef<Affine(Symbol)> value);

// Puts `value` for one iterator.
void Substitute(LoopProgram& program, Block& block, IteratorId iterator,
                const Affine& value);

// The same for a statement and the iterators of `values`.
using IteratorMap = absl::flat_hash_map<IteratorId, Affine>;
void Substitute(LoopProgram& program, Stmt& stmt, const IteratorMap& values);

// A new buffer that no other has the name of: "acc", "acc_2", ...
BufferId AddBuffer(LoopProgram& program, const std::string& name, DType dtype,
                   Dims dims, Role role);

// The block once more, with locals and iterators of its own, outer ones first,
// and with private buffers of its own where it `copies_privates`.
Block Copy(LoopProgram& program, Block block, bool copies_privates);

// The first of the statements from `first` up to before `last` that must stay
// in order with `stmt`; `last`, if there is none.
size_t FirstConflict(const LoopProgram& program, absl::Span<const Stmt> stmts,
                     size_t first, size_t last, const Stmt& stmt);

// The first of the comments right before a statement, which belong to it, or
// itself.
size_t FirstCommentOf(absl::Span<const Stmt> stmts, size_t at);

// How many loops are inside of one another in the block, at most.
int LoopDepthOf(const Block& block);

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_EDIT_H_
