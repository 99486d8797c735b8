// SPDX-License-Identifier: Apache-2.0
//
// The flags that choose what runs programs, --tier and the like, and what is
// shown of it, as --trace (core/base/system/trace_events.h), --log_runs
// (interp/run_log.h) and --explain_nonfinite (interp/explain_nonfinite.h);
// SETTINGS.md lists them.
#ifndef OCANNL_TIER_FLAGS_H_
#define OCANNL_TIER_FLAGS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/compare_tiers.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/stream.h"

namespace ocannl {

const std::vector<Flag>& TierFlags();

// Errors: those of FindTier, TraceEvents::Start and RunLog::Open; a number of
// threads or lines that is none; a tier that cannot show what it does.
absl::StatusOr<const Backend*> TierOf(const CommandLine& line);

// That tier, or every one of this machine for --tier=all. Errors: as of TierOf.
absl::StatusOr<std::vector<NamedTier>> TiersOf(const CommandLine& line);

// Writes what the stream and its backend did to stderr where it is wanted.
void ReportTier(const CommandLine& line, const Stream& stream);

// Does so in any case.
void WriteTierReport(const Stream& stream);

}  // namespace ocannl

#endif  // OCANNL_TIER_FLAGS_H_
