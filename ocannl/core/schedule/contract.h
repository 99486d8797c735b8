// SPDX-License-Identifier: Apache-2.0
//
// WriteContract: a nest that accumulates, as tiles whose accumulators stay in
// registers. Each cell still takes its terms in the order of the program.
//
//   for i1 { for i2 { for i3 { y[i1, i2] := fma(w[i2, i3], x[i1, i3],
//                                              y[i1, i2]); } } }
//
//     for columns {
//       for k { vec n { packed[0, k, n] := w[n, k]; } }
//       for rows {
//         unroll m { vec n { acc[m, n] := 0; } }
//         for k { unroll m { vec n {
//           acc[m, n] := fma(packed[0, k, n], x[m, k], acc[m, n]); } } }
//         unroll m { vec n { y[m, n] := acc[m, n]; } }
//       }
//     }
#ifndef OCANNL_CORE_SCHEDULE_CONTRACT_H_
#define OCANNL_CORE_SCHEDULE_CONTRACT_H_

#include <vector>

#include "ocannl/core/schedule/nest.h"
#include "ocannl/core/schedule/plan.h"
#include "ocannl/core/schedule/writer.h"

namespace ocannl {

// What becomes of the result beside being stored.
struct TileUse {
  // The target was 0 everywhere and has no other value yet.
  bool starts_at_zero = false;
  // Nobody reads the target but the epilogues.
  bool drops_result = false;
  // Pointwise statements over the same output loops, in order: their iterators
  // are those of the nest.
  std::vector<Set> epilogues;
};

// Appends the nest to `block`.
void WriteContract(NestWriter& writer, const PerfectNest& nest,
                   const ContractPlan& plan, const TileUse& use, Block& block);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CONTRACT_H_
