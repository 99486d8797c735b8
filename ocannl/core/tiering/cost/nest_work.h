// SPDX-License-Identifier: Apache-2.0
//
// NestWork: the arithmetic and the memory traffic of a loop nest, as rooflines
// count them, and what kind of loops it is.
//
//   for i0 = 0 to 9 { y[i0] := x[i0 + 5] * 2; }
//     ->  map, 10 flops, 40 bytes read, 40 bytes written
#ifndef OCANNL_CORE_TIERING_COST_NEST_WORK_H_
#define OCANNL_CORE_TIERING_COST_NEST_WORK_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

enum class NestKind : uint8_t {
  kContraction,  // sums of products: a cell accumulates fma(a, b, cell)
  kReduction,    // other accumulations, as sums, maxima and rows
  kScatter,      // stores at indices that are read
  kGather,       // reads at indices that are read
  kMap,          // other arithmetic on cells
  kCopy,         // moves values: copies, pads, packs
  kFill,         // constants
};

absl::string_view Name(NestKind kind);  // "contraction"

struct NestWork {
  NestKind kind = NestKind::kFill;  // the first in the list that occurs
  double arithmetic = 0;            // Prediction::arithmetic of one run
  double flops = 0;                 // Prediction::flops of one run
  double bytes_read = 0;            // of each cell once; private arrays have
  double bytes_written = 0;         // none
};

// Of statements of the program's body. The cells of an array are counted as the
// smallest box around all accesses, for one value of the static indices.
NestWork NestWorkOf(const LoopProgram& program, const Block& nest);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_COST_NEST_WORK_H_
