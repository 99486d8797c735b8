// SPDX-License-Identifier: Apache-2.0
//
// FindRowGroups: the statements of a program that BlockRows can run for one
// block of rows before the next block, so that large temps need the memory of
// one block.
#ifndef OCANNL_CORE_OPT_ROW_GROUPS_H_
#define OCANNL_CORE_OPT_ROW_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/opt/block_rows.h"
#include "ocannl/core/opt/row_space.h"

namespace ocannl {

// A statement that is done block by block.
struct RowPart {
  size_t stmt;    // of the program's body
  RowLoops rows;  // not of a zero_out
};

// Statements of the program's body from `begin` up to before `end`: those of
// `before`, then for each block of rows `parts`, then those of `after`.
struct RowGroup {
  size_t begin;
  size_t end;
  std::vector<size_t> before;
  std::vector<RowPart> parts;  // also statements before `begin`, done again
  std::vector<size_t> after;
  int64_t rows;
  int64_t block;                // rows of a block
  std::vector<BufferId> temps;  // those with memory for the rows of a block
  RowSpace space;
};

// The groups, in the order of the program. Each of the `temps` is computed in
// blocks by all groups that use it, or by none. Empty: all temps stay whole.
std::vector<RowGroup> FindRowGroups(const LoopProgram& program,
                                    absl::Span<const BufferId> temps,
                                    const BlockRowsOptions& options);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_ROW_GROUPS_H_
