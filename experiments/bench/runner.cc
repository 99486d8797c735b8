// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

// Some code leaves the upper halves of vector registers in use, with which code
// that was compiled for older processors runs many times slower.
void ClearUpperHalves() {
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroupper");
}

double Time(const Contender& contender, int64_t runs) {
  double seconds = contender.time(runs);
  ClearUpperHalves();
  return seconds;
}

// Equal bits; NaNs equal NaNs.
bool SameNumber(float a, float b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0 || (a != a && b != b);
}

absl::Status CheckResult(const std::vector<float>& expected,
                         const Contender& contender) {
  std::vector<float> found = contender.result();
  ClearUpperHalves();
  if (found.size() > expected.size() ||
      (contender.tolerance == 0 && found.size() != expected.size())) {
    return absl::InternalError(
        absl::StrFormat("%s gives %d numbers instead of %d", contender.name,
                        found.size(), expected.size()));
  }
  double scale = 0;
  for (float x : expected) scale = std::max(scale, double{std::abs(x)});
  for (size_t i = 0; i < found.size(); ++i) {
    double difference = std::abs(double{found[i]} - double{expected[i]});
    bool same = contender.tolerance == 0
                    ? SameNumber(found[i], expected[i])
                    : difference <= contender.tolerance * scale;
    if (same) continue;
    return absl::InternalError(absl::StrFormat(
        "number %d of %s is %.9g (%a) instead of %.9g (%a)", i, contender.name,
        found[i], found[i], expected[i], expected[i]));
  }
  return absl::OkStatus();
}

// How many runs fill the moment: by one run, and then by so many.
int64_t RunsPerTiming(const Contender& contender, double moment,
                      double one_run) {
  auto runs_for = [&](double seconds_of_one) {
    double runs = std::ceil(moment / std::max(seconds_of_one, 1e-9));
    return static_cast<int64_t>(std::clamp(runs, 1., 1e6));
  };
  int64_t runs = runs_for(one_run);
  if (runs == 1) return 1;
  return runs_for(Time(contender, runs) / static_cast<double>(runs));
}

struct Entrant {
  const Contender* contender;
  int64_t runs = 1;
  double one_run = 0;
  std::vector<double> seconds = {};  // of one run, by round
};

// How long it runs before it is timed, once at least: a cache of the last level
// may take in only what missed it a few times. Runs of more than kLongRun
// seconds find little of what others left there, and are timed at once.
constexpr double kWarmSeconds = 0.002;
constexpr double kLongRun = 0.05;

int64_t WarmRuns(const Entrant& entrant) {
  if (entrant.one_run > kLongRun) return 0;
  double runs = std::ceil(kWarmSeconds / std::max(entrant.one_run, 1e-9));
  return std::min(entrant.runs + 3, static_cast<int64_t>(runs));
}

// One timing; what a run finds in the caches is what a run left there.
double TimeOnce(const Entrant& entrant) {
  const Contender& contender = *entrant.contender;
  if (int64_t runs = WarmRuns(entrant); runs > 0) Time(contender, runs);
  return Time(contender, entrant.runs) / static_cast<double>(entrant.runs);
}

std::vector<Entrant> EntrantsOf(const Workload& workload,
                                const RunnerOptions& options,
                                Measurement& measurement) {
  std::vector<Entrant> entrants;
  for (const Contender& contender : workload.contenders) {
    double first = Time(contender, 1);
    double most = 4 * options.seconds / options.least_rounds;
    double one_run = first;
    if (first < most) one_run = std::min(first, Time(contender, 1));
    if (one_run >= most) {
      measurement.missing.push_back(absl::StrFormat(
          "%s: too slow, %.3g s a run", contender.name, one_run));
      continue;
    }
    entrants.push_back(
        {.contender = &contender,
         .runs = RunsPerTiming(contender, options.moment, one_run),
         .one_run = one_run});
  }
  return entrants;
}

int RoundsFor(const std::vector<Entrant>& entrants,
              const RunnerOptions& options) {
  double round = options.moment;  // of the probe
  for (const Entrant& entrant : entrants) {
    round += static_cast<double>(WarmRuns(entrant)) * entrant.one_run +
             std::max(entrant.one_run, options.moment);
  }
  return static_cast<int>(std::clamp<double>(
      options.seconds / round, options.least_rounds, options.most_rounds));
}

// By round, whether the probe was near its median.
std::vector<bool> Steady(const std::vector<double>& rates, double drift) {
  double median = SpreadOf(rates).median;
  std::vector<bool> steady;
  for (double rate : rates) {
    steady.push_back(std::abs(rate - median) <= drift * median);
  }
  return steady;
}

template <class F>
Spread SpreadOver(const std::vector<bool>& steady, F number) {
  std::vector<double> numbers;
  for (size_t round = 0; round < steady.size(); ++round) {
    if (steady[round]) numbers.push_back(number(round));
  }
  return SpreadOf(std::move(numbers));
}

const Entrant* OurFastest(const std::vector<Entrant>& entrants) {
  const Entrant* ours = nullptr;
  for (const Entrant& entrant : entrants) {
    if (entrant.contender->ours) ours = &entrant;
  }
  return ours;
}

}  // namespace

Spread SpreadOf(std::vector<double> numbers) {
  CHECK(!numbers.empty());
  std::sort(numbers.begin(), numbers.end());
  size_t last = numbers.size() - 1;
  return {.median = numbers[last / 2],
          .low = numbers[last / 10],
          .high = numbers[last - last / 10],
          .least = numbers[0]};
}

absl::Status CheckResults(const Workload& workload) {
  std::vector<float> expected;
  std::string first;
  for (const Contender& contender : workload.contenders) {
    if (contender.result == nullptr) continue;
    if (first.empty()) {
      first = contender.name;
      expected = contender.result();
      continue;
    }
    absl::Status status = CheckResult(expected, contender);
    if (!status.ok()) {
      return absl::InternalError(absl::StrCat(
          workload.name, ": ", status.message(), ", as ", first, " has it"));
    }
  }
  return absl::OkStatus();
}

Measurement Measure(const Workload& workload, absl::FunctionRef<double()> probe,
                    const RunnerOptions& options) {
  Measurement measurement{.workload = workload.name,
                          .probe = workload.probe,
                          .work = workload.work,
                          .rate = {},
                          .rounds = 0,
                          .kept = 0,
                          .standings = {},
                          .missing = workload.missing};
  std::vector<Entrant> entrants = EntrantsOf(workload, options, measurement);
  if (entrants.empty()) return measurement;
  measurement.rounds = RoundsFor(entrants, options);
  std::vector<double> rates;
  for (int round = 0; round < measurement.rounds; ++round) {
    rates.push_back(probe());
    // Nobody always comes after the same neighbour.
    for (size_t k = 0; k < entrants.size(); ++k) {
      Entrant& entrant = entrants[(k + round) % entrants.size()];
      entrant.seconds.push_back(TimeOnce(entrant));
    }
  }
  std::vector<bool> steady = Steady(rates, options.drift);
  measurement.kept =
      static_cast<int>(std::count(steady.begin(), steady.end(), true));
  measurement.rate = SpreadOver(steady, [&](size_t r) { return rates[r]; });
  const Entrant* ours = OurFastest(entrants);
  for (const Entrant& entrant : entrants) {
    const std::vector<double>& seconds = entrant.seconds;
    measurement.standings.push_back(
        {.name = entrant.contender->name,
         .ours = entrant.contender->ours,
         .runs = entrant.runs,
         .seconds = SpreadOver(steady, [&](size_t r) { return seconds[r]; }),
         .share = SpreadOver(
             steady,
             [&](size_t r) { return workload.work / seconds[r] / rates[r]; }),
         .ratio = SpreadOver(steady, [&](size_t r) {
           return ours == nullptr ? 0 : seconds[r] / ours->seconds[r];
         })});
  }
  return measurement;
}

}  // namespace ocannl
