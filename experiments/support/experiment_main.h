// SPDX-License-Identifier: Apache-2.0
//
// The main function of an experiment, and what those of several processes do.
#ifndef EXPERIMENTS_SUPPORT_EXPERIMENT_MAIN_H_
#define EXPERIMENTS_SUPPORT_EXPERIMENT_MAIN_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl {

// Reads `flags`, to which those of all programs are added, and calls `run`;
// --help says what the program does. Returns the exit code: of an error, which
// goes to stderr, that of ExitCodeOf.
int ProgramMain(const std::string& name, const std::string& what,
                const std::vector<Flag>& flags,
                absl::FunctionRef<absl::Status(const CommandLine& line)> run,
                int argc, char** argv);

// The same of an experiment, whose flags those of tiers come before.
int ExperimentMain(const std::string& name, const std::string& what,
                   const std::vector<Flag>& flags,
                   absl::FunctionRef<absl::Status(const CommandLine& line)> run,
                   int argc, char** argv);

// Calls `run` with the ranks of --distributed, null where there is one process:
// a flag of the experiments that call this. Only rank 0 prints to std::cout
// meanwhile, and an error of one rank ends all. Warns of processes of mpirun
// that know nothing of each other. Error: that of `run`, and those of
// CommunicatorOf.
absl::Status RunRanks(
    const CommandLine& line,
    absl::FunctionRef<absl::Status(train::Communicator* ranks)> run);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_EXPERIMENT_MAIN_H_
