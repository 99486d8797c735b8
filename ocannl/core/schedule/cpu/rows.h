// SPDX-License-Identifier: Apache-2.0
//
// FuseRows: loop fusion of reductions and maps over the rows of matrices, as in
// softmax and layer norm, so that a row stays in L1 between them.
//
//   for i1 { lanes of x[i1, ..]; s[i1] := ...; }
//   for i2 { for i3 { y[i2, i3] := x[i2, i3] / s[i2]; } }
//     ->  for i1 { lanes of x[i1, ..]; s[i1] := ...;
//                  for i3 { y[i1, i3] := x[i1, i3] / s[i1]; } }
#ifndef OCANNL_CORE_SCHEDULE_CPU_ROWS_H_
#define OCANNL_CORE_SCHEDULE_CPU_ROWS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"
#include "ocannl/core/schedule/nests/canonicalize.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

struct FusedRows {
  For loop;
  size_t count;                   // of the nests that it stands for
  std::vector<PerfectNest> maps;  // in the loop, to be scheduled
  bool is_parallel;               // there is enough to do
  rewrite::Script script;         // what made it
};

// How many of the nests, one or more, come before the first that is not a loop
// with as many iterations as the first one. 0 if one of them reduces rows.
// FuseRows finds nothing that starts with these nests, so skipping them saves
// time.
size_t CountPlainRows(const LoopProgram& program, const WaitingNests& nests);

// One loop for the first of the nests, one or more, and a description of it.
// nullopt: fewer than two fit, or none of them is a reduction of rows
// (split_reduce.h).
std::optional<FusedRows> FuseRows(LoopProgram& program,
                                  const WaitingNests& nests,
                                  const Target& target);

// `rewriter` has the loop. Reductions of a block of rows are transposed
// (rewrite::TransposeRows), but not where a block does not fit in L1, or
// parallel rows would be too few blocks.
absl::Status ScheduleRows(NestRewriter& rewriter, const FusedRows& rows,
                          const Target& target);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_ROWS_H_
