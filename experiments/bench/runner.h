// SPDX-License-Identifier: Apache-2.0
//
// The interleaving runner: in each round everybody works for a moment, beside
// a sample of the probe. Ratios are taken inside of rounds, so that what
// changes from second to second cancels out.
//
//   Measurement m = Measure(workload, [&] { return probes.Rate(kind); }, {});
//
// Google Benchmark writes the figures (report.h) and times the work that nobody
// else does (bench_engine.cc). It has no rounds: its random interleaving mixes
// whole repetitions, so that no two times belong together. It has no probe, so
// no round can be dropped. Its filter accepts a name that matches nothing, its
// minimal time is one benchmark's and not a workload's, and its table has no
// column that compares. These parts are ours: this runner, the flags of
// bench_main.cc, and the table of report.h.
#ifndef EXPERIMENTS_BENCH_RUNNER_H_
#define EXPERIMENTS_BENCH_RUNNER_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "experiments/bench/workload.h"

namespace ocannl {

// Of numbers: the middle, the tenths on both sides, the least.
struct Spread {
  double median, low, high, least;
};
Spread SpreadOf(std::vector<double> numbers);

struct Standing {
  std::string name;
  bool ours;
  int64_t runs;    // per timing
  Spread seconds;  // of one run
  Spread share;    // of the probe's rate; 0 where it says nothing
  Spread ratio;    // its seconds divided by those of our fastest tier
};

struct Measurement {
  std::string workload;
  ProbeKind probe;
  double work;
  Spread rate;  // of the probe
  int rounds, kept;
  std::vector<Standing> standings;
  std::vector<std::string> missing;
};

struct RunnerOptions {
  double seconds = 1;      // for all rounds
  double moment = 0.0005;  // the least seconds of one timing
  int least_rounds = 5;
  int most_rounds = 1001;
  double drift = 0.05;  // of the probe from its median: the round is dropped
};

// Whether all contenders do the same work: the exact ones to the last bit, the
// others within their tolerance of the first. Error: two that differ, where,
// and both values.
absl::Status CheckResults(const Workload& workload);

// Contenders whose rounds alone would take four times the seconds are left out
// and said to be missing.
Measurement Measure(const Workload& workload, absl::FunctionRef<double()> probe,
                    const RunnerOptions& options);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_RUNNER_H_
