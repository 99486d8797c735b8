// SPDX-License-Identifier: Apache-2.0
//
// ScheduleContract: a tensor contraction as a register-tiled microkernel in
// blocked loops over packed operands (plan.h), by rewrites. Each element still
// accumulates its terms in the order of the program, so the bits stay.
//
//   for i1 { for i2 { for i3 { y[i1, i2] := fma(w[i2, i3], x[i1, i3],
//                                              y[i1, i2]); } } }
//
//     for panels of n {
//       for k { vec n { packed[k, n] := w[n, k]; } }
//       for tiles of m {
//         unroll m { vec n { acc[m, n] := 0; } }
//         for k { unroll m { vec n {
//           acc[m, n] := fma(packed[k, n], x[m, k], acc[m, n]); } } }
//         unroll m { vec n { y[m, n] := acc[m, n]; } }
//       }
//     }
//
// In order: the nest is tiled (tile_contract.h); operands are packed; loops in
// tiles become lanes or are unrolled, and the target is privatized.
#ifndef OCANNL_CORE_SCHEDULE_CPU_CONTRACT_H_
#define OCANNL_CORE_SCHEDULE_CPU_CONTRACT_H_

#include <vector>

#include "absl/status/status.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"
#include "ocannl/core/schedule/cpu/tiling/plan.h"

namespace ocannl {

// What is done with each element before and after its sum.
struct Epilogue {
  // The target is a constant everywhere, mostly 0: tiles do not load it (beta =
  // 0 in BLAS).
  bool beta_is_zero = false;
  // Fused pointwise statements over the same output loops, in order, with the
  // iterators of the nest. None where the plan has blocks of k, or n is a unit
  // loop.
  std::vector<Set> sets;
};

// A contraction, of which n is the last output loop if it is a unit loop, with
// its plan and what is fused with it.
struct Contraction {
  PerfectNest nest;
  ContractPlan plan;
  Epilogue epilogue;
};

// `rewriter` has the nest, and in its output loops the epilogue.
absl::Status ScheduleContract(NestRewriter& rewriter,
                              const Contraction& contraction);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_CONTRACT_H_
