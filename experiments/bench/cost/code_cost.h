// SPDX-License-Identifier: Apache-2.0
//
// What a program's machine code costs by count, which is the same on every
// machine and run: the reproducible half of a benchmark. As of a simulator such
// as Cachegrind, the instructions are those that a run executes; here they are
// static counts of each loop times its trips.
//
//   CostOf(program, jit::Isa::kAvx512)
//   {"nests": 1, ..., "run": {"fma": 524288, "instructions": 861042, ...},
//    "hot_loop": {"at": "for i7 = 0 to 31", "fma": 192, ...}}
#ifndef EXPERIMENTS_BENCH_COST_CODE_COST_H_
#define EXPERIMENTS_BENCH_COST_CODE_COST_H_

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl {

// Of a program that Verify accepts, which this schedules for `isa`; this
// machine need not have it:
//
//   nests          loop nests
//   barriers       parallel sections: threads wait at the end of each
//   code_bytes     of machine code and constants
//   scratch_bytes  of memory for temporaries and addresses
//   traffic_bytes  of the buffers that each nest reads and those that it
//                  writes: what it moves if nothing stays in a cache
//   run            executed: instructions, fma, loads, stores and stack (loads
//                  and stores of spills and of the frame); what a loop over
//                  lanes or a helper does is counted once
//   hot_loop       where most instructions are executed: the same, of an
//                  iteration
//
// Error: as of PlanBuffers.
absl::StatusOr<nlohmann::json> CostOf(const LoopProgram& program, jit::Isa isa);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_COST_CODE_COST_H_
