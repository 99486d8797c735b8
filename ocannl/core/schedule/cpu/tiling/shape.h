// SPDX-License-Identifier: Apache-2.0
//
// ContractShape: a tensor contraction as numbers: the extents of its loops and
// the strides of its operands along them. Besides these, tile sizes depend on
// the target alone.
//
//   y[m, n] += a[m, k] * b[k, n], 64 x 48 x 256
//     ->  m = 64, n = 48, k = {256}; a: m = 256, k = {1}; b: n = 1, k = {48}
#ifndef OCANNL_CORE_SCHEDULE_CPU_TILING_SHAPE_H_
#define OCANNL_CORE_SCHEDULE_CPU_TILING_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/cpu/tiling/tile_loops.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// Lines at this distance, in bytes, fall in one set of L2.
inline constexpr int64_t kL2SetPeriod = 64 * 1024;

struct ContractShape {
  // Strides are in cells; 0 where it does not depend on the loop.
  struct Operand {
    int64_t cell_bytes;
    int64_t m = 0, q = 0, n = 0;
    std::vector<int64_t> k, outer;  // as below
  };

  int64_t m = 1, q = 1, n = 1;  // 1 where there is no such loop
  bool has_q = false;
  std::vector<int64_t> k;      // all reduced loops, outermost first
  std::vector<int64_t> outer;  // other output loops, outermost first
  int64_t cell_bytes = 0;      // of the target
  int64_t target_cells = 0;
  std::vector<Operand> operands;
  std::optional<size_t> b;  // the number of the only one that depends on n
  bool is_copy = false;     // the value is an operand
  bool is_sum = false;      // it is the target and an operand, added

  int64_t Lanes(const Target& target) const {
    return target.vector_bytes / cell_bytes;
  }
  double Steps() const;  // iterations of all reduced loops
  // Whether back ends load B along its rows and transpose it in registers while
  // the sum runs: a copy of it in the other order would not be used again.
  bool TransposesInRegisters(const Target& target) const;
  // Whether a step of the innermost reduced loop reads of B what the step
  // before read for the next q (tile_loops.h: taps).
  bool SharesTaps() const;
};

// `operands` are OperandsOf(program, nest), and those of the shape in order.
ContractShape ShapeOf(const LoopProgram& program, const PerfectNest& nest,
                      absl::Span<const Access> operands,
                      const TileLoops& loops);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_TILING_SHAPE_H_
