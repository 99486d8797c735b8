// SPDX-License-Identifier: Apache-2.0
//
// The programs of workloads, for those who compile them elsewhere.
#ifndef EXPERIMENTS_BENCH_DUMP_H_
#define EXPERIMENTS_BENCH_DUMP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "experiments/bench/workload.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// What the workload has a tier compile, in order. Error: it cannot be made.
absl::StatusOr<std::vector<LoopProgram>> ProgramsOf(const WorkloadMaker& maker);

// Writes what the workloads have a tier compile as gemm_64x64x64.ll, or
// moons_call-2.ll where there is more than one, in `directory`, which is made
// if need be. What several have in common is written once. Returns the number
// of files. Errors: a workload that cannot be made; of writing.
absl::StatusOr<int> DumpPrograms(absl::Span<const WorkloadMaker> makers,
                                 const std::string& directory);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_DUMP_H_
