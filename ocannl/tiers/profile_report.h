// SPDX-License-Identifier: Apache-2.0
//
// Reports of a profile (core/tiering/profile.h): for each program the time of
// each nest, and sums by class and by assignment.
//
//   x86 step: 20 runs nest by nest, 20 whole
//   nest    class          us  10%  90%  share  flops ...  of limit  writes
//   nest-0  contraction  52.1 51.9 53.0   0.84  ...     0.91 of fma  h
//   sum                  62.0
//   all nests in turn    62.1 62.0 65.7
//   whole                61.2 60.9 64.0
#ifndef OCANNL_TIERS_PROFILE_REPORT_H_
#define OCANNL_TIERS_PROFILE_REPORT_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "ocannl/core/tiering/profile.h"
#include "ocannl/tiers/probes.h"

namespace ocannl {

// What so many threads reach together, in units of the probe a second; 0: not
// known.
using ProbeRate = std::function<double(ProbeKind kind, int threads)>;

// Rates that are measured once, when they are asked for first.
ProbeRate MeasuredRates();

// Programs that ran, the one that took longest first; each has
//
//   program, tier, runs    of runs nest by nest
//   nests                  name, class, writes, origin, flops, bytes_read,
//                          bytes_written, threads, barriers, median_us, p10_us,
//                          p90_us, share, limit, of_limit
//   classes, lines         the same times, by class and by origin
//   sum_us                 of the medians of the nests
//   together               median_us, p10_us, p90_us of runs nest by nest
//   whole                  runs, median_us, p10_us, p90_us of whole runs
//
// The limit is the probe of the roofline (Williams, Waterman and Patterson
// 2009) that needs longer for the nest: f32 multiply-adds, or a copy in the
// smallest cache that holds its arrays. of_limit is that time in the nest's.
nlohmann::ordered_json ProfileJson(const Profile& profile,
                                   const ProbeRate& rate);

// Tables of the first `most` programs of a ProfileJson.
std::string ProfileText(const nlohmann::ordered_json& profile, size_t most);

// When the process ends, writes tables of its profile to stderr, and the JSON
// to the file `path` unless that is empty. A later call changes the path.
// Error: the file cannot be written.
absl::Status ReportProfileAtExit(const std::string& path);

}  // namespace ocannl

#endif  // OCANNL_TIERS_PROFILE_REPORT_H_
