// SPDX-License-Identifier: Apache-2.0
//
// The phases of a `grid` nest, its shared memory, and which registers live
// through phases.
//
//   thread i1 = 0 to 3 { acc[i1, 0] := 0; }          ThreadAxes(acc) is 1:
//   thread i2 = 0 to 3 { y[i2] := acc[i2, 0]; }      acc[0] of each thread
#ifndef OCANNL_CORE_ANALYSIS_PHASES_H_
#define OCANNL_CORE_ANALYSIS_PHASES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::gpu {

// Loops of one kind, each the only statement of the one before.
struct LoopNest {
  explicit LoopNest(const For& outermost);

  const Block& body() const { return loops.back()->body; }

  std::vector<const For*> loops;
  int64_t size = 1;  // iterations of all
};

// The outermost `thread` loops inside of a block.
void WalkPhases(const Block& block, absl::FunctionRef<void(const For&)> visit);

// How many of the first indices of the private `buffer` are the iterators of
// the threads, in every phase of the grid nest around `body`. It is the number
// of those iterators, or 0 if only one phase uses the buffer. Error: a phase
// with other indices, in which a thread may need a cell of another thread.
absl::StatusOr<size_t> ThreadAxes(const LoopProgram& program, const Block& body,
                                  BufferId buffer);

// What the buffer takes of shared memory, where each starts at a multiple of 16
// bytes.
int64_t SharedBytes(const Buffer& buffer);

// What the shared buffers of the grid nest around `body` take together.
int64_t SharedBytes(const LoopProgram& program, const Block& body);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_ANALYSIS_PHASES_H_
