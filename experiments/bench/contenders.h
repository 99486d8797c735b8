// SPDX-License-Identifier: Apache-2.0
//
// Those who run a LoopProgram: our tiers, and gcc.
//
//   Workload workload{...};
//   OCANNL_RETURN_IF_ERROR(AddProgram(
//       setting, {.program = program, .gcc = {"-O3"}}, workload));
#ifndef EXPERIMENTS_BENCH_CONTENDERS_H_
#define EXPERIMENTS_BENCH_CONTENDERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/workload.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct ProgramWork {
  LoopProgram program;
  NamedArrays given = {};  // the first values of some buffers
  std::string first = "";  // of the results: see BoundProgram
  // Runs of the program in one of the work, each a step: see BoundProgram.
  int64_t steps = 1;
  std::vector<std::string> gcc = {};  // also as C, at these levels: "-O3"
  std::string gcc_name = "gcc";
};

// How often the assignments of the program run, all together.
double AssignmentRuns(const LoopProgram& program);

// What the interpreter and unvectorised C get to do, at most.
inline constexpr double kMostAssignmentRuns = 2e8;

// Adds all tiers of the setting and, if it has peers, gcc. Who is not there is
// missing; the interpreter and gcc are when the program is too long for them.
// Error: a tier that does not compile the program; no memory.
absl::Status AddProgram(const Setting& setting, const ProgramWork& work,
                        Workload& workload);

// The flags of gcc at a level: for this machine, and the interpreter's bits
// unless the level is -Ofast.
std::vector<std::string> GccFlags(const std::string& level);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_CONTENDERS_H_
