// SPDX-License-Identifier: Apache-2.0
//
// PlanBlockSum: a contraction in blocks (assign/sums/cascade.h) and the sum of
// its blocks as one nest, in which a register has each partial sum.
//
//   for i, j, b { for k { t[b, i, j] := fma(...); } }
//   for i, j, b { y[i, j] := y[i, j] + t[b, i, j]; }
//     ->  for i, j, b { t[b, i, j] := 0; for k { t[b, i, j] := fma(...); }
//                       y[i, j] := y[i, j] + t[b, i, j]; }
#ifndef OCANNL_CORE_SCHEDULE_CPU_BLOCK_SUM_H_
#define OCANNL_CORE_SCHEDULE_CPU_BLOCK_SUM_H_

#include <optional>
#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/cpu/contract.h"
#include "ocannl/core/schedule/nests/canonicalize.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

struct BlockSum {
  std::vector<NestLoop> loops;  // of the second nest, in the order of the first
  Contraction contraction;
};

// The plan for `nest`, the blocks, and `next`, their sum. nullopt:
// - `next` does not add up the results of `nest`;
// - blocks are better parallel: the outer loops, or tiles where there are none,
//   have few iterations, and the results are small;
// - A, which is packed for all blocks at once, is larger than the results.
std::optional<BlockSum> PlanBlockSum(LoopProgram& program,
                                     const PerfectNest& nest,
                                     const CanonicalNest& next,
                                     const Target& target);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_BLOCK_SUM_H_
