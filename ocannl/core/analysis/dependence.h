// SPDX-License-Identifier: Apache-2.0
//
// Data dependence analysis: which loops may be parallelized, vectorized,
// interchanged, fused and distributed (Allen and Kennedy, Optimizing Compilers
// for Modern Architectures, 2001).
//
//   for i1 = 0 to 9 { y[i1, 0] := x[i1] + y[i1, 1]; }     parallel
//   for i1 = 0 to 8 { y[i1] := y[i1 + 1]; }               lanes, not parallel
//   for i1 = 0 to 8 { y[i1 + 1] := y[i1]; }               neither
//
// Accesses are compared axis by axis under direction vectors, as linear
// equations over bounded iterators (equation.h). All tests are conservative:
// where independence is not proved there is a dependence. Static indices have
// any value. The program is one that Verify accepts, but for scratch buffers
// that other nests have filled.
#ifndef OCANNL_CORE_ANALYSIS_DEPENDENCE_H_
#define OCANNL_CORE_ANALYSIS_DEPENDENCE_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Two accesses that may touch one element, one of them a write, and so prevent
// a transformation.
struct Dependence {
  BufferId buffer = {};         // none: a local, or the form of the loops
  std::optional<Access> first;  // nullopt: all of the buffer
  std::optional<Access> second;
};

// InvalidArgument if there is a dependence: "<what>: one iteration touches as
// `y[i1]` what another does as ...".
absl::Status CheckNone(const std::optional<Dependence>& dependence,
                       const LoopProgram& program, absl::string_view what);

// Why the iterations of `loop`, a loop of the program, may not run in any order
// and in parallel. The result is nullopt if no iteration reads or writes a cell
// that another one writes, and no local outlives its iteration. Each iteration
// has its own private buffers if it writes the cells that it reads of them and
// nothing reads them after the loop.
std::optional<Dependence> WhyNotParallel(const LoopProgram& program,
                                         const For& loop);
inline bool IsParallel(const LoopProgram& program, const For& loop) {
  return !WhyNotParallel(program, loop);
}

// Whether each iteration of `loop`, a loop of the program, writes what it reads
// of the private `buffer`, and nothing else reads it (array privatization, Tu
// and Padua 1993).
bool IsPrivatizable(const LoopProgram& program, const For& loop,
                    BufferId buffer);

// Why `loop`, a loop of the program, may not be vectorized: each statement runs
// for all iterations before the next one, its reads before its writes. The body
// must be straight-line code.
std::optional<Dependence> WhyNotVectorizable(const LoopProgram& program,
                                             const For& loop);
inline bool CanRunAsLanes(const LoopProgram& program, const For& loop) {
  return !WhyNotVectorizable(program, loop);
}

// Why `outer`, a loop of the program, and the loop that is all of its body may
// not be interchanged.
std::optional<Dependence> WhyNotInterchange(const LoopProgram& program,
                                            const For& outer);

// Why iteration i of `second` may not run right after iteration i of `first`,
// the statement before it. Cells that both touch, one writing, they touch in
// the same iteration, so loops that are parallel still are when fused.
std::optional<Dependence> WhyNotFuse(const LoopProgram& program,
                                     const For& first, const For& second);

// Why the statements from `at` on in the body of `loop`, a loop of the program,
// may not run in a second loop, after one with the statements before them.
std::optional<Dependence> WhyNotDistribute(const LoopProgram& program,
                                           const For& loop, size_t at);

}  // namespace ocannl

#endif  // OCANNL_CORE_ANALYSIS_DEPENDENCE_H_
