// SPDX-License-Identifier: Apache-2.0
//
// Measurements as a table of 80 columns and as JSON.
//
// gemm/64x64x64: fma 134 GF/s (129 to 136), 402 of 431 rounds
//                  median       10%    90%   GF/s  of probe   ours is faster
//  x86-avx512        4.04 us   4.01   4.22    130     96.9%
//  openblas           8.3 us   8.21    8.5   63.2     47.2%   2.05x  1.99   2.1
#ifndef EXPERIMENTS_BENCH_REPORT_H_
#define EXPERIMENTS_BENCH_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/bench/runner.h"

namespace ocannl {

std::string Table(const Measurement& measurement);

// One line per group, the part of the name before '/': how many times faster
// ours is than the fastest peer of each workload, as geometric mean and least.
// Groups without peers have no line.
std::string Summary(absl::Span<const Measurement> measurements);

// The format of Google Benchmark, which its tools read. "benchmarks" has a run
// for each contender of a workload, with its name as "label": its spreads are
// numbers, such as "seconds_median" and "time_by_ours_low". A run of the probe
// comes first; whoever is missing is an error. "context" tells the machine.
std::string Json(absl::Span<const Measurement> measurements, int threads);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_REPORT_H_
