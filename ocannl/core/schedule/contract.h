// SPDX-License-Identifier: Apache-2.0
//
// WriteContract: a tensor contraction as a register-tiled microkernel in
// blocked loops over packed operands (plan.h). Each element still accumulates
// its terms in the order of the program, so the bits stay.
//
//   for i1 { for i2 { for i3 { y[i1, i2] := fma(w[i2, i3], x[i1, i3],
//                                              y[i1, i2]); } } }
//
//     for panels of n {
//       for k { vec n { packed[0, k, n] := w[n, k]; } }
//       for tiles of m {
//         unroll m { vec n { acc[m, n] := 0; } }
//         for k { unroll m { vec n {
//           acc[m, n] := fma(packed[0, k, n], x[m, k], acc[m, n]); } } }
//         unroll m { vec n { y[m, n] := acc[m, n]; } }
//       }
//     }
#ifndef OCANNL_CORE_SCHEDULE_CONTRACT_H_
#define OCANNL_CORE_SCHEDULE_CONTRACT_H_

#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/plan.h"
#include "ocannl/core/schedule/writer.h"

namespace ocannl {

// How tiles start, and what is computed from them besides storing the result.
struct Epilogue {
  // The target is 0 everywhere: tiles do not load it (beta = 0 in BLAS).
  bool beta_is_zero = false;
  // Only the epilogue reads the target: tiles do not store it.
  bool result_is_dead = false;
  // Fused pointwise statements over the same output loops, in order, with the
  // iterators of the nest.
  std::vector<Set> sets;
};

// Appends the nest to `block`.
void WriteContract(NestWriter& writer, const PerfectNest& nest,
                   const ContractPlan& plan, const Epilogue& epilogue,
                   Block& block);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CONTRACT_H_
