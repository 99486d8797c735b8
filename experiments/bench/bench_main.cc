// SPDX-License-Identifier: Apache-2.0
//
// Our tiers against everybody who does the same work, side by side.
//
//   bazel run //experiments:bench -- --filter=gemm,moons --seconds=2
//   bazel run //experiments:bench -- --threads=2 --json=bench.json
//   bazel run //experiments:bench -- --dump=programs
//
// Checks results before it measures, and exits with 1 if some are wrong.
#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "experiments/bench/dump.h"
#include "experiments/bench/report.h"
#include "experiments/bench/runner.h"
#include "experiments/bench/workloads.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/flags/flags.h"
#include "ocannl/tiers/tiers.h"

namespace ocannl {
namespace {

const std::vector<Flag>& Flags() {
  static const auto* flags = [] {
    auto* all = new std::vector<Flag>{
        {"filter", "", "only workloads whose name contains one of these"},
        {"list", "false", "only say the names"},
        {"dump", "", "a directory for the programs, and measure nothing"},
        {"brief", "false", "a few small workloads, for a moment each"},
        {"seconds", "1", "to measure a workload"},
        {"threads", "1", "of the probes, our tiers and peers that can"},
        {"tiers", "",
         "ours, the fastest last: everything is compared with it; all by "
         "default"},
        {"peers", "true", "measure others too"},
        {"python", "python3", "the program that may have PyTorch and JAX"},
        {"json", "", "a file for all figures"}};
    absl::c_move(FlagsOf(kProgramFlags), std::back_inserter(*all));
    return all;
  }();
  return *flags;
}

std::vector<WorkloadMaker> AllWorkloads() {
  std::vector<WorkloadMaker> all;
  for (auto workloads :
       {MoonsWorkloads, MlpWorkloads, ShardWorkloads, TrainerWorkloads,
        NetWorkloads, GemmWorkloads, OneRowWorkloads, EinsumWorkloads,
        MapWorkloads, RowWorkloads, LatencyWorkloads}) {
    for (WorkloadMaker& maker : workloads()) all.push_back(std::move(maker));
  }
  return all;
}

// Error: a part that no name contains.
absl::Status CheckFilter(const std::vector<std::string>& parts,
                         const std::vector<WorkloadMaker>& makers) {
  for (const std::string& part : parts) {
    std::vector<std::string> candidates;  // names, and their words
    for (const WorkloadMaker& maker : makers) {
      candidates.push_back(maker.name);
      for (absl::string_view word : absl::StrSplit(maker.name, '/')) {
        candidates.emplace_back(word);
      }
    }
    absl::c_sort(candidates);
    candidates.erase(std::unique(candidates.begin(), candidates.end()),
                     candidates.end());
    if (absl::c_any_of(candidates, [&](const std::string& name) {
          return absl::StrContains(name, part);
        })) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("--filter: no workload has `", part, "` in its name",
                     NearNamesHint(part, candidates), "; see --list"));
  }
  return absl::OkStatus();
}

// The names that the filter and --brief leave.
absl::StatusOr<std::vector<WorkloadMaker>> Chosen(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(bool brief, line.GetBool("brief"));
  std::vector<WorkloadMaker> chosen = AllWorkloads();
  std::vector<std::string> parts =
      absl::StrSplit(line.GetString("filter"), ',', absl::SkipEmpty());
  OCANNL_RETURN_IF_ERROR(CheckFilter(parts, chosen));
  auto matches = [&](const std::string& name) {
    return parts.empty() || absl::c_any_of(parts, [&](const std::string& part) {
             return absl::StrContains(name, part);
           });
  };
  std::erase_if(chosen, [&](const WorkloadMaker& maker) {
    return (brief && !maker.brief) || !matches(maker.name);
  });
  if (!chosen.empty()) return chosen;
  return absl::InvalidArgumentError(
      absl::StrCat("--filter=", line.GetString("filter"),
                   ": none of these is measured with --brief; leave it out"));
}

absl::StatusOr<Setting> SettingOf(const CommandLine& line) {
  Setting setting{.python = line.GetString("python")};
  OCANNL_ASSIGN_OR_RETURN(int64_t threads, line.GetInt("threads", 1, 1024));
  setting.threads = static_cast<int>(threads);
  OCANNL_ASSIGN_OR_RETURN(setting.peers, line.GetBool("peers"));
  std::vector<std::string> names =
      absl::StrSplit(line.GetString("tiers"), ',', absl::SkipEmpty());
  if (names.empty()) names = AvailableTiers();
  for (const std::string& name : names) {
    OCANNL_ASSIGN_OR_RETURN(const Backend* backend,
                            FindTier(name, {.threads = setting.threads}));
    setting.tiers.push_back({name, backend});
  }
  return setting;
}

absl::StatusOr<RunnerOptions> OptionsOf(const CommandLine& line) {
  RunnerOptions options;
  if (!absl::SimpleAtod(line.GetString("seconds"), &options.seconds) ||
      !(options.seconds > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seconds=", line.GetString("seconds"),
                     " is no number greater than 0"));
  }
  OCANNL_ASSIGN_OR_RETURN(bool brief, line.GetBool("brief"));
  if (brief) options.seconds = 0.02;
  return options;
}

absl::StatusOr<Measurement> Run(const WorkloadMaker& maker,
                                const Setting& setting,
                                const RunnerOptions& options, Probes& probes) {
  OCANNL_ASSIGN_OR_RETURN(Workload workload, maker.make(setting));
  OCANNL_RETURN_IF_ERROR(CheckResults(workload));
  return Measure(
      workload, [&] { return probes.Rate(workload.probe); }, options);
}

// Who is missing for the same reason again is not said again.
void Print(Measurement measurement, std::set<std::string>& said) {
  std::erase_if(measurement.missing, [&](const std::string& missing) {
    return !said.insert(missing).second;
  });
  std::cout << Table(measurement) << std::endl;
}

// No result is wrong where there are none.
absl::StatusOr<int> Dump(const CommandLine& line,
                         absl::Span<const WorkloadMaker> makers) {
  const std::string& directory = line.GetString("dump");
  if (directory.empty()) {
    return absl::InvalidArgumentError(
        "--dump= names no directory; write --dump=DIR");
  }
  OCANNL_ASSIGN_OR_RETURN(int count, DumpPrograms(makers, UserPath(directory)));
  std::cout << count << " programs are in " << directory << "\n";
  return 0;
}

// The number of workloads with wrong results.
absl::StatusOr<int> RunAll(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<WorkloadMaker> chosen, Chosen(line));
  OCANNL_ASSIGN_OR_RETURN(bool list, line.GetBool("list"));
  if (list) {
    for (const WorkloadMaker& maker : chosen) std::cout << maker.name << "\n";
    return 0;
  }
  if (line.Has("dump")) return Dump(line, chosen);
  OCANNL_ASSIGN_OR_RETURN(Setting setting, SettingOf(line));
  OCANNL_ASSIGN_OR_RETURN(RunnerOptions options, OptionsOf(line));
  OCANNL_ASSIGN_OR_RETURN(Probes probes, Probes::Make(setting.threads));
  std::vector<Measurement> measurements;
  std::set<std::string> said;
  int wrong = 0;
  for (const WorkloadMaker& maker : chosen) {
    absl::StatusOr<Measurement> measured = Run(maker, setting, options, probes);
    if (measured.ok()) {
      Print(*measured, said);
      measurements.push_back(*std::move(measured));
    } else {
      std::cout << "WRONG " << maker.name << ": " << measured.status().message()
                << std::endl;
      ++wrong;
    }
  }
  std::cout << Summary(measurements);
  if (line.Has("json")) {
    OCANNL_RETURN_IF_ERROR(WriteFile(UserPath(line.GetString("json")),
                                     Json(measurements, setting.threads)));
  }
  return wrong;
}

absl::StatusOr<int> Main(const std::vector<std::string>& args) {
  OCANNL_ASSIGN_OR_RETURN(CommandLine line, CommandLine::Parse(args, Flags()));
  if (ShowsHelp(line, "Measures our tiers and others side by side.\n", Flags(),
                std::cout)) {
    return 0;
  }
  if (!line.positional().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", line.positional()[0], "` is not a flag; see --help"));
  }
  return RunAll(line);
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::RunMain([&] {
    absl::StatusOr<int> wrong =
        ocannl::Main(std::vector<std::string>(argv + 1, argv + argc));
    if (wrong.ok()) return *wrong == 0 ? 0 : 1;
    std::cerr << "bench: " << wrong.status().message() << "\n";
    return 2;
  });
}
