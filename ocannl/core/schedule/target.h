// SPDX-License-Identifier: Apache-2.0
//
// Target: what schedules depend on of a processor; results do not.
#ifndef OCANNL_CORE_SCHEDULE_TARGET_H_
#define OCANNL_CORE_SCHEDULE_TARGET_H_

#include <cstdint>

namespace ocannl {

inline constexpr int64_t kPageBytes = 4096;
// A block of so many rows of 32-bit elements is transposed in registers in the
// place of gathers; with fewer than kMinTransposed, gathers are faster
// (`bazel run //experiments:bench -- --filter=gemm`, with A transposed).
inline constexpr int64_t kColumnsAtOnce = 16;
inline constexpr int64_t kMinTransposed = 5;

struct Target {
  int vector_bytes;              // of a register
  int vector_registers;          // for accumulators, operands and temporaries
  int64_t l1_bytes = 48 * 1024;  // L1: the data cache next to a core
  int64_t l2_bytes = 2 * 1024 * 1024;  // L2: a core's own, behind L1
  // Parallel loops have iterations for so many where that costs nothing.
  int64_t threads = 8;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_TARGET_H_
