// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "benchmark/benchmark.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/tiers/probes.h"

namespace ocannl {
namespace {

// What seconds are printed in.
struct Unit {
  absl::string_view name;
  double seconds;
};

Unit UnitFor(double seconds) {
  if (seconds < 1e-6) return {"ns", 1e-9};
  if (seconds < 1e-3) return {"us", 1e-6};
  return seconds < 1 ? Unit{"ms", 1e-3} : Unit{"s", 1};
}

// Three digits, or all before the point, in five columns.
std::string Short(double number) {
  if (number >= 99999.5) return absl::StrFormat("%.0e", number);
  if (number >= 100) return absl::StrFormat("%.0f", number);
  if (number >= 0.1) return absl::StrFormat("%.3g", number);
  return absl::StrFormat("%.3f", number);
}

// Work on a clock is in vectors of 16 numbers: the fewer cycles, the better.
std::string ShareText(const Measurement& measurement,
                      const Standing& standing) {
  if (measurement.work == 0) return "";
  if (measurement.probe == ProbeKind::kClock) {
    return Short(1 / standing.share.median) + " cyc";
  }
  return absl::StrFormat("%.1f%%", 100 * standing.share.median);
}

std::string RateText(const Measurement& measurement, const Standing& standing) {
  if (measurement.work == 0) return "";
  return Short(measurement.work / standing.seconds.median / 1e9);
}

// The fastest that is ours, of those that are there.
const Standing* OursOf(const Measurement& measurement) {
  const Standing* ours = nullptr;
  for (const Standing& standing : measurement.standings) {
    if (standing.ours) ours = &standing;
  }
  return ours;
}

std::string Row(const Measurement& measurement, const Standing& standing) {
  const Spread& seconds = standing.seconds;
  Unit unit = UnitFor(seconds.median);
  std::string row = absl::StrFormat("  %-15s", standing.name);
  // A long name has a line of its own.
  if (row.size() > 17) row += absl::StrFormat("\n%17s", "");
  row += absl::StrFormat(
      "%7.4g %-2s%7s%7s%7s%10s", seconds.median / unit.seconds, unit.name,
      Short(seconds.low / unit.seconds), Short(seconds.high / unit.seconds),
      RateText(measurement, standing), ShareText(measurement, standing));
  const Standing* ours = OursOf(measurement);
  if (ours != nullptr && ours != &standing) {
    absl::StrAppend(
        &row,
        absl::StrFormat("%7sx%6s%6s", Short(standing.ratio.median),
                        Short(standing.ratio.low), Short(standing.ratio.high)));
  }
  return row + "\n";
}

// How many times faster ours is than the fastest peer, if both are there.
std::optional<double> Lead(const Measurement& measurement) {
  std::optional<double> lead;
  for (const Standing& standing : measurement.standings) {
    if (standing.ours || OursOf(measurement) == nullptr) continue;
    lead =
        std::min(lead.value_or(standing.ratio.median), standing.ratio.median);
  }
  return lead;
}

using Run = benchmark::BenchmarkReporter::Run;

// A run of one of those who worked in the rounds, or the probe.
Run RunOf(const Measurement& measurement, const std::string& name) {
  Run run;
  run.run_name.function_name = measurement.workload;
  run.run_name.args = name;
  run.report_label = name;
  run.family_index = run.per_family_instance_index = 0;
  run.repetitions = measurement.rounds;
  run.repetition_index = Run::no_repetition_index;
  return run;
}

void AddSpread(const std::string& name, const Spread& spread, Run& run) {
  run.counters[name + "_median"] = spread.median;
  run.counters[name + "_low"] = spread.low;
  run.counters[name + "_high"] = spread.high;
  run.counters[name + "_least"] = spread.least;
}

void AddRuns(const Measurement& measurement, std::vector<Run>& runs) {
  Run probe = RunOf(measurement, std::string(Name(measurement.probe)));
  AddSpread("probe_rate", measurement.rate, probe);
  probe.counters["work"] = measurement.work;
  probe.counters["rounds_kept"] = measurement.kept;
  runs.push_back(std::move(probe));
  for (const Standing& standing : measurement.standings) {
    Run run = RunOf(measurement, standing.name);
    run.iterations = standing.runs;
    run.real_accumulated_time =
        standing.seconds.median * static_cast<double>(standing.runs);
    run.counters["ours"] = standing.ours;
    AddSpread("seconds", standing.seconds, run);
    AddSpread("time_by_ours", standing.ratio, run);
    if (measurement.work > 0) AddSpread("share", standing.share, run);
    runs.push_back(std::move(run));
  }
  for (const std::string& missing : measurement.missing) {
    Run run = RunOf(measurement, missing.substr(0, missing.find(':')));
    run.error_occurred = true;
    run.error_message = missing;
    runs.push_back(std::move(run));
  }
}

}  // namespace

std::string Table(const Measurement& measurement) {
  std::string text = absl::StrCat(measurement.workload, ": ");
  if (!measurement.standings.empty()) {
    const Spread& rate = measurement.rate;
    absl::StrAppend(
        &text,
        absl::StrFormat("%s %.3g %s (%.3g to %.3g), %d of %d rounds",
                        Name(measurement.probe), rate.median / 1e9,
                        UnitOf(measurement.probe), rate.low / 1e9,
                        rate.high / 1e9, measurement.kept, measurement.rounds));
    text = WrapWords(text, 0, 2) + "\n";
    bool clock = measurement.probe == ProbeKind::kClock;
    bool compared = measurement.work > 0;
    absl::StrAppend(&text, absl::StrFormat("%24s   %7s%7s%7s%10s%17s\n",
                                           "median", "10%", "90%",
                                           !compared ? ""
                                           : clock   ? "G/s"
                                                   : UnitOf(measurement.probe),
                                           !compared ? ""
                                           : clock   ? ""
                                                     : "of probe",
                                           "ours is faster"));
    for (const Standing& standing : measurement.standings) {
      text += Row(measurement, standing);
    }
  } else {
    text += "nobody\n";
  }
  for (const std::string& missing : measurement.missing) {
    absl::StrAppend(&text, "  without ", WrapWords(missing, 10, 4), "\n");
  }
  return text;
}

std::string Summary(absl::Span<const Measurement> measurements) {
  std::map<std::string, std::vector<double>> leads;
  for (const Measurement& measurement : measurements) {
    std::optional<double> lead = Lead(measurement);
    if (!lead) continue;
    std::vector<std::string> parts =
        absl::StrSplit(measurement.workload, absl::MaxSplits('/', 1));
    leads[parts[0]].push_back(*lead);
  }
  std::string text;
  for (const auto& [group, of_group] : leads) {
    double logs = 0;
    for (double lead : of_group) logs += std::log(lead);
    const std::string line = absl::StrFormat(
        "%s: %.3gx as fast as the fastest peer "
        "(geometric mean of %d, least %.3gx)",
        group, std::exp(logs / of_group.size()), of_group.size(),
        *std::min_element(of_group.begin(), of_group.end()));
    absl::StrAppend(&text, WrapWords(line, 0, 2), "\n");
  }
  return text;
}

std::string Json(absl::Span<const Measurement> measurements, int threads) {
  std::vector<Run> runs;
  for (const Measurement& measurement : measurements) {
    AddRuns(measurement, runs);
  }
  benchmark::AddCustomContext("processor", ProcessorName());
  benchmark::AddCustomContext("threads", absl::StrCat(threads));
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  reporter.ReportRuns(runs);
  reporter.Finalize();
  return text.str();
}

}  // namespace ocannl
