// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tiers/profile_report.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostPrograms = 10;  // in tables

double Microseconds(const DurationSamples& samples, double share) {
  return 1e6 * samples.Quantile(share);
}

void AddTimes(const DurationSamples& samples, Json& to) {
  to["median_us"] = Microseconds(samples, 0.5);
  to["p10_us"] = Microseconds(samples, 0.1);
  to["p90_us"] = Microseconds(samples, 0.9);
}

// The copy in the smallest cache that holds the bytes of each thread.
ProbeKind CopyOf(double bytes, int threads) {
  const double own = bytes / threads;
  auto fits = [](double in, int cache) {
    return in <= static_cast<double>(sysconf(cache));
  };
  if (fits(own, _SC_LEVEL1_DCACHE_SIZE)) return ProbeKind::kL1Copy;
  if (fits(own, _SC_LEVEL2_CACHE_SIZE)) return ProbeKind::kCacheCopy;
  if (fits(bytes, _SC_LEVEL3_CACHE_SIZE)) return ProbeKind::kL3Copy;
  return ProbeKind::kMemoryCopy;
}

struct Limit {
  double seconds = 0;  // 0: not known
  ProbeKind kind = ProbeKind::kFma;
};

Limit LimitOf(const NestProfile& nest, const ProbeRate& rate) {
  const double bytes = nest.work.bytes_read + nest.work.bytes_written;
  const ProbeKind copy = CopyOf(bytes, nest.threads);
  const double fma_rate = rate(ProbeKind::kFma, nest.threads);
  const double copy_rate = rate(copy, nest.threads);
  if (fma_rate <= 0 || copy_rate <= 0) return {};
  const double fma = nest.work.flops / fma_rate;
  const double moves = bytes / copy_rate;
  return fma > moves ? Limit{fma, ProbeKind::kFma} : Limit{moves, copy};
}

// A part of the sum.
struct Share {
  int nests = 0;
  double median_us = 0;
  double limit_us = 0;
};

Json SharesJson(const char* key,
                const std::vector<std::pair<std::string, Share>>& shares,
                double sum_us) {
  Json rows = Json::array();
  for (const auto& [name, share] : shares) {
    rows.push_back(
        {{key, name},
         {"nests", share.nests},
         {"median_us", share.median_us},
         {"share", share.median_us / std::max(sum_us, 1e-9)},
         {"of_limit", share.limit_us / std::max(share.median_us, 1e-9)}});
  }
  return rows;
}

// Sums by a name, the greatest first.
class Shares {
 public:
  void Add(const std::string& name, double median_us, double limit_us) {
    Share& share = shares_[name];
    ++share.nests;
    share.median_us += median_us;
    share.limit_us += limit_us;
  }

  std::vector<std::pair<std::string, Share>> Sorted() const {
    std::vector<std::pair<std::string, Share>> sorted(shares_.begin(),
                                                      shares_.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) {
                       return a.second.median_us > b.second.median_us;
                     });
    return sorted;
  }

 private:
  std::map<std::string, Share> shares_;
};

Json NestJson(const NestProfile& nest, const Limit& limit, double sum_us) {
  const double median_us = Microseconds(nest.time, 0.5);
  Json row = {{"name", nest.name},
              {"class", std::string(Name(nest.work.kind))},
              {"writes", nest.writes},
              {"origin", nest.origin},
              {"flops", nest.work.flops},
              {"bytes_read", nest.work.bytes_read},
              {"bytes_written", nest.work.bytes_written},
              {"threads", nest.threads},
              {"barriers", nest.barriers}};
  AddTimes(nest.time, row);
  row["share"] = median_us / std::max(sum_us, 1e-9);
  if (limit.seconds > 0) {
    row["limit"] = std::string(Name(limit.kind));
    row["of_limit"] = 1e6 * limit.seconds / std::max(median_us, 1e-3);
  }
  return row;
}

Json ProgramJson(const ProgramProfile& program, const ProbeRate& rate) {
  double sum_us = 0;
  for (const NestProfile& nest : program.nests) {
    sum_us += Microseconds(nest.time, 0.5);
  }
  Json nests = Json::array();
  Shares classes, lines;
  for (const NestProfile& nest : program.nests) {
    const Limit limit = LimitOf(nest, rate);
    nests.push_back(NestJson(nest, limit, sum_us));
    const double median_us = Microseconds(nest.time, 0.5);
    classes.Add(std::string(Name(nest.work.kind)), median_us,
                1e6 * limit.seconds);
    if (nest.origin.empty()) continue;
    lines.Add(nest.origin, median_us, 1e6 * limit.seconds);
  }
  Json row = {{"program", program.program},
              {"tier", program.tier},
              {"runs", program.nests[0].time.count()},
              {"sum_us", sum_us},
              {"together", Json::object()},
              {"whole", {{"runs", program.whole.count()}}},
              {"nests", std::move(nests)},
              {"classes", SharesJson("class", classes.Sorted(), sum_us)},
              {"lines", SharesJson("line", lines.Sorted(), sum_us)}};
  AddTimes(program.together, row["together"]);
  AddTimes(program.whole, row["whole"]);
  return row;
}

double Number(const Json& row, const char* key) {
  return row.contains(key) ? row[key].get<double>() : 0;
}

std::string Text(const Json& row, const char* key) {
  return row.contains(key) ? row[key].get<std::string>() : "";
}

// Fused nests name many assignments; the JSON has them all.
std::string Shortened(std::string text) {
  constexpr size_t kWidth = 100;
  if (text.size() <= kWidth) return text;
  size_t end = kWidth - 3;
  // Not within a character of UTF-8.
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string SharesText(const Json& rows, const char* key) {
  if (rows.empty()) return "";
  std::string text = absl::StrFormat("%12s %6s %9s %6s  %s\n", "us", "share",
                                     "of limit", "nests", key);
  for (const Json& row : rows) {
    absl::StrAppendFormat(&text, "%12.3f %6.3f %9.3f %6d  %s\n",
                          Number(row, "median_us"), Number(row, "share"),
                          Number(row, "of_limit"), row["nests"].get<int>(),
                          Shortened(Text(row, key)));
  }
  return text;
}

std::string NestText(const Json& row) {
  return absl::StrFormat(
      "%-9s %-11s %11.3f %11.3f %11.3f %6.3f %13.0f %12.0f %12.0f %8.3f %-14s "
      "%3d %3d  %s\n",
      Text(row, "name"), Text(row, "class"), Number(row, "median_us"),
      Number(row, "p10_us"), Number(row, "p90_us"), Number(row, "share"),
      Number(row, "flops"), Number(row, "bytes_read"),
      Number(row, "bytes_written"), Number(row, "of_limit"), Text(row, "limit"),
      row["threads"].get<int>(), row["barriers"].get<int>(),
      Text(row, "writes"));
}

void AppendRun(const char* what, const Json& run, std::string& text) {
  absl::StrAppendFormat(&text, "%-21s %11.3f %11.3f %11.3f\n", what,
                        Number(run, "median_us"), Number(run, "p10_us"),
                        Number(run, "p90_us"));
}

std::string ProgramText(const Json& program) {
  const Json& whole = program["whole"];
  std::string text = absl::StrFormat(
      "\n%s %s: %d runs nest by nest, %d whole\n", Text(program, "tier"),
      Text(program, "program"), program["runs"].get<int64_t>(),
      whole["runs"].get<int64_t>());
  absl::StrAppendFormat(
      &text,
      "%-9s %-11s %11s %11s %11s %6s %13s %12s %12s %8s %-14s %3s %3s  %s\n",
      "nest", "class", "us", "10%", "90%", "share", "flops", "bytes read",
      "written", "of limit", "limit", "thr", "bar", "writes");
  for (const Json& nest : program["nests"]) text += NestText(nest);
  absl::StrAppendFormat(&text, "%-21s %11.3f\n", "sum",
                        Number(program, "sum_us"));
  AppendRun("all nests in turn", program["together"], text);
  if (whole["runs"].get<int64_t>() > 0) {
    AppendRun("whole", whole, text);
    const double ratio = Number(program["together"], "median_us") /
                         std::max(Number(whole, "median_us"), 1e-9);
    absl::StrAppendFormat(
        &text, "Runs nest by nest take %.1f %% of whole runs' time.\n",
        100 * ratio);
  }
  absl::StrAppend(&text, SharesText(program["classes"], "class"),
                  SharesText(program["lines"], "line"));
  return text;
}

struct AtExit {
  std::mutex mutex;
  std::string path;
};

AtExit& ReportAtExit() {
  static auto* report = new AtExit();
  return *report;
}

void WriteReport() {
  const Json profile = ProfileJson(Profile::OfProcess(), MeasuredRates());
  std::cerr << ProfileText(profile, kMostPrograms) << std::flush;
  AtExit& report = ReportAtExit();
  std::lock_guard<std::mutex> lock(report.mutex);
  if (report.path.empty()) return;
  const absl::Status written =
      WriteFile(report.path, absl::StrCat(profile.dump(1), "\n"));
  if (!written.ok()) std::cerr << "error: " << written.message() << "\n";
}

}  // namespace

ProbeRate MeasuredRates() {
  auto rates = std::make_shared<std::map<std::pair<ProbeKind, int>, double>>();
  return [rates](ProbeKind kind, int threads) {
    auto [rate, is_new] = rates->try_emplace({kind, threads}, 0);
    if (!is_new) return rate->second;
    absl::StatusOr<Probes> probes = Probes::Make(threads);
    if (!probes.ok()) return 0.;
    std::array<double, 5> samples;
    for (double& sample : samples) sample = probes->Rate(kind);
    std::sort(samples.begin(), samples.end());
    return rate->second = samples[samples.size() / 2];
  };
}

nlohmann::ordered_json ProfileJson(const Profile& profile,
                                   const ProbeRate& rate) {
  Json programs = Json::array();
  for (const auto& program : profile.programs()) {
    std::lock_guard<std::mutex> lock(program->mutex);
    if (program->nests.empty() || program->nests[0].time.count() == 0) continue;
    programs.push_back(ProgramJson(*program, rate));
  }
  auto cost = [](const Json& program) {
    const auto runs = program["runs"].get<double>();
    return Number(program, "sum_us") *
           (runs + program["whole"]["runs"].get<double>());
  };
  std::stable_sort(
      programs.begin(), programs.end(),
      [&](const Json& a, const Json& b) { return cost(a) > cost(b); });
  return {{"version", 1}, {"programs", std::move(programs)}};
}

std::string ProfileText(const nlohmann::ordered_json& profile, size_t most) {
  const Json& programs = profile["programs"];
  if (programs.empty()) return "profile: no routine ran\n";
  std::string text;
  for (size_t k = 0; k < std::min(most, programs.size()); ++k) {
    text += ProgramText(programs[k]);
  }
  if (programs.size() > most) {
    absl::StrAppend(&text, "\n", programs.size() - most,
                    " routines that took less are in --profile=FILE.json\n");
  }
  return text;
}

absl::Status ReportProfileAtExit(const std::string& path) {
  if (!path.empty()) OCANNL_RETURN_IF_ERROR(CheckReplaceable(path));
  AtExit& report = ReportAtExit();
  std::lock_guard<std::mutex> lock(report.mutex);
  report.path = path;
  static const int registered = std::atexit(WriteReport);
  (void)registered;
  return absl::OkStatus();
}

}  // namespace ocannl
