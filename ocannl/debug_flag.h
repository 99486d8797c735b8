// SPDX-License-Identifier: Apache-2.0
//
// --debug=all (OCANNL_DEBUG=all): what becomes of the routines of a program,
// and what it does when, in files of the directory build_files/PROGRAM.
//
//   stages   the stages of each routine that is compiled (train/debug.h); of
//            what the tool runs also schedule and machine code
//   hosted   every array of a routine keeps its value after a run, to be read
//   log      log.html: compilations, runs and copies as a tree, with times, in
//            the detail that --log_level asks for
//   runs     runs.log: all reads and stores; on the interpreter
//   all      the first three
#ifndef OCANNL_DEBUG_FLAG_H_
#define OCANNL_DEBUG_FLAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"

namespace ocannl {

Flag DebugFlag();

// Paths; empty: none.
struct DebugLogs {
  std::string log, runs, stages;  // the last: a directory
};

// Does what the flag says from now on, but for the logs, which are for the
// tiers. Errors: a value that is none; the directory cannot be made.
absl::StatusOr<DebugLogs> StartDebug(const CommandLine& line);

}  // namespace ocannl

#endif  // OCANNL_DEBUG_FLAG_H_
