// SPDX-License-Identifier: Apache-2.0
//
// What kTierFlags and kPassFlags ask of a run: the tier, the passes, and what
// is shown of it, as --trace (core/base/system/trace_events.h), --log_runs
// (interp/run_log.h), --explain_nonfinite (interp/explain_nonfinite.h) and
// --debug.
#ifndef OCANNL_FLAGS_RUN_OPTIONS_H_
#define OCANNL_FLAGS_RUN_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/tiers/compare_tiers.h"

namespace ocannl {

// The tier. Errors: those of FindTier, TraceEvents::Start and
// RunLog::Open; a number of threads or lines that is none; a tier that cannot
// show what it does.
absl::StatusOr<const Backend*> TierOf(const CommandLine& line);

// That tier, or every one of this machine for --tier=all. Errors: as of TierOf.
absl::StatusOr<std::vector<NamedTier>> TiersOf(const CommandLine& line);

// Writes what the stream and its backend did to stderr where it is wanted.
void ReportTier(const CommandLine& line, const Stream& stream);

// Does so in any case.
void WriteTierReport(const Stream& stream);

// --debug=all (OCANNL_DEBUG=all): what becomes of the routines of a program,
// and what it does when, in files of the directory build_files/PROGRAM.
//
//   stages   the stages of each routine that is compiled (train/run/debug.h);
//   of
//            what the tool runs also schedule and machine code
//   hosted   every array of a routine keeps its value after a run, to be read
//   log      log.html: compilations, runs and copies as a tree, with times, in
//            the detail that --log_level asks for
//   runs     runs.log: all reads and stores; on the interpreter
//   all      the first three
//
// Paths of these; empty: none.
struct DebugLogs {
  std::string log, runs, stages;  // the last: a directory
};

// Does what --debug says from now on, but for the logs, which are for the
// tiers. Errors: a value that is none; the directory cannot be made.
absl::StatusOr<DebugLogs> StartDebug(const CommandLine& line);

// What kPassFlags say of passes over loops. Errors: a value that is not one; a
// name of no pass.
absl::StatusOr<PassOptions> PassOptionsOf(const CommandLine& line);

// The names of the passes of machine code, its schedule's and its VCode's, that
// do not run. Errors: those of PassOptionsOf.
absl::StatusOr<std::vector<std::string>> SkippedCodePasses(
    const CommandLine& line);

}  // namespace ocannl

#endif  // OCANNL_FLAGS_RUN_OPTIONS_H_
