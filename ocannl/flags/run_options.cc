// SPDX-License-Identifier: Apache-2.0
#include "ocannl/flags/run_options.h"

#include <cerrno>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/open_file.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/base/wanted_debug_symbols.h"
#include "ocannl/flags/ranks.h"
#include "ocannl/interp/explain_nonfinite.h"
#include "ocannl/interp/run_log.h"
#include "ocannl/jit/x86_backend.h"
#include "ocannl/tiers/profile_report.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/run/debug.h"

namespace ocannl {
namespace {

using Names = std::vector<std::string>;

Names LoopPasses() {
  Names names;
  for (const Pass& pass : Passes()) names.emplace_back(pass.name);
  return names;
}

absl::Status CheckName(absl::string_view flag, const std::string& name,
                       const Names& passes) {
  if (absl::c_linear_search(passes, name)) return absl::OkStatus();
  const absl::btree_set<std::string> known(passes.begin(), passes.end());
  return UserError("--", flag, ": no pass `", name, "`; the passes are ",
                   absl::StrJoin(known, ", "));
}

// The names that a flag lists, which must be of `passes`.
absl::StatusOr<Names> NamesOf(const CommandLine& line, absl::string_view flag,
                              const Names& passes) {
  Names names = absl::StrSplit(line.GetString(flag), ',', absl::SkipEmpty());
  for (const std::string& name : names) {
    OCANNL_RETURN_IF_ERROR(CheckName(flag, name, passes));
  }
  return names;
}

struct Selection {
  PassOptions loops;
  Names skipped;  // passes of machine code
};

absl::StatusOr<Selection> SelectionOf(const CommandLine& line) {
  const Names code = jit::CodePasses();
  Names passes = LoopPasses();
  passes.emplace_back("none");
  OCANNL_ASSIGN_OR_RETURN(const Names only, NamesOf(line, "passes", passes));
  passes.pop_back();
  absl::c_copy(code, std::back_inserter(passes));
  OCANNL_ASSIGN_OR_RETURN(const Names skip, NamesOf(line, "skip", passes));
  const std::string& stop = line.GetString("stop_after");
  if (!stop.empty()) {
    OCANNL_RETURN_IF_ERROR(CheckName("stop_after", stop, passes));
  }
  OCANNL_ASSIGN_OR_RETURN(int64_t limit, line.GetInt("limit", -1, 1000));

  // Whoever stops at a pass over loops has none of machine code.
  bool stopped = !stop.empty() && !absl::c_linear_search(code, stop);
  Selection selection;
  PassOptions& loops = selection.loops;
  OCANNL_ASSIGN_OR_RETURN(loops.real, line.GetBool("real"));
  if (stopped) loops.stop_after = stop;
  loops.limit = static_cast<int>(limit);
  for (const Pass& pass : Passes()) {
    if (!loops.Allows(pass)) continue;
    if (absl::c_linear_search(skip, pass.name) ||
        (!only.empty() && !absl::c_linear_search(only, pass.name))) {
      loops.skip.emplace_back(pass.name);
    } else if (limit > 0) {
      --limit;
    }
  }
  for (const std::string& pass : code) {
    if (stopped || limit == 0 || absl::c_linear_search(skip, pass)) {
      selection.skipped.push_back(pass);
    } else if (limit > 0) {
      --limit;
    }
    stopped = stopped || pass == stop;
  }
  return selection;
}

// What --debug=`value` asks for.
absl::StatusOr<std::set<std::string>> DebugPartsOf(absl::string_view value) {
  std::set<std::string> parts;
  for (absl::string_view part :
       absl::StrSplit(value, ',', absl::SkipWhitespace())) {
    if (part == "all") {
      parts.insert({"stages", "hosted", "log"});
    } else if (part == "stages" || part == "hosted" || part == "log" ||
               part == "runs") {
      parts.emplace(part);
    } else {
      return UserError("--debug cannot be `", part,
                       "`; it is all, or some of stages, ",
                       "hosted, log and runs, with commas between");
    }
  }
  return parts;
}

// The path of a flag, or else what --debug has. Error: the user has not given
// the name, which is one rank's, and it is a link.
absl::StatusOr<std::string> OwnPath(const CommandLine& line,
                                    absl::string_view flag,
                                    const std::string& debug) {
  const std::string path = UserPath(line.GetString(flag));
  if (path.empty()) return debug;
  const std::string own = RankPath(path);
  if (own != path) OCANNL_RETURN_IF_ERROR(CheckNoLink(own));
  return own;
}

// Starts the profile that --profile asks for; whether it does.
absl::StatusOr<bool> StartProfile(const CommandLine& line) {
  if (!line.Has("profile")) return false;  // settings do not have it
  const std::string& value = line.GetString("profile");
  if (value == "false") return false;
  std::string path;
  if (value != "true") {
    if (!absl::EndsWith(value, ".json")) {
      return UserError("--profile=", value, " is not a .json file; write ",
                       "--profile, or --profile=FILE.json");
    }
    OCANNL_ASSIGN_OR_RETURN(path, OwnPath(line, "profile", ""));
  }
  AskForOrigins();
  OCANNL_RETURN_IF_ERROR(ReportProfileAtExit(path));
  return true;
}

absl::StatusOr<TierOptions> OptionsOf(const CommandLine& line,
                                      const DebugLogs& debug) {
  TierOptions options{.code_cache = line.GetString("code_cache")};
  OCANNL_ASSIGN_OR_RETURN(int64_t threads, line.GetInt("threads", 0, 1024));
  options.threads = static_cast<int>(threads);
  OCANNL_ASSIGN_OR_RETURN(int64_t device, line.GetInt("cuda_device", 0, 1023));
  options.cuda_device = static_cast<int>(device);
  options.cuda_home = line.GetString("cuda_home");
  OCANNL_ASSIGN_OR_RETURN(options.skip, SkippedCodePasses(line));
  OCANNL_ASSIGN_OR_RETURN(options.report, line.GetBool("tier_report"));
  OCANNL_ASSIGN_OR_RETURN(const std::string trace,
                          OwnPath(line, "trace", debug.log));
  options.trace = !trace.empty();
  OCANNL_ASSIGN_OR_RETURN(options.profile, StartProfile(line));
  OCANNL_ASSIGN_OR_RETURN(const int64_t level, line.GetInt("log_level", 0, 3));
  if (options.trace) {
    OCANNL_RETURN_IF_ERROR(
        TraceEvents::Start(trace, {.level = static_cast<int>(level)}));
  }
  return options;
}

using Observers = std::vector<std::unique_ptr<interp::RunObserver>>;

// Only the interpreter goes statement by statement.
absl::Status CheckIsOnInterpreter(const CommandLine& line,
                                  absl::string_view flag) {
  const std::string& tier = line.GetString("tier");
  if (tier != "interp" && tier != "auto") {
    return UserError("--", flag,
                     " runs on the interpreter, not on --tier=", tier,
                     "; leave one of them out");
  }
  OCANNL_ASSIGN_OR_RETURN(bool check, line.GetBool("check"));
  if (!check) return absl::OkStatus();
  return UserError("--", flag,
                   " runs on the interpreter, with which --check compares "
                   "other tiers; leave one of them out");
}

// Those that flags ask for.
absl::StatusOr<Observers> ObserversOf(const CommandLine& line,
                                      const DebugLogs& debug) {
  Observers observers;
  OCANNL_ASSIGN_OR_RETURN(const std::string log,
                          OwnPath(line, "log_runs", debug.runs));
  OCANNL_ASSIGN_OR_RETURN(int64_t lines,
                          line.GetInt("log_run_lines", 1, 1'000'000'000));
  OCANNL_ASSIGN_OR_RETURN(bool explain, line.GetBool("explain_nonfinite"));
  if (!log.empty()) {
    OCANNL_RETURN_IF_ERROR(CheckIsOnInterpreter(line, "log_runs"));
    OCANNL_ASSIGN_OR_RETURN(observers.emplace_back(),
                            interp::RunLog::Open(log, lines));
  }
  if (explain) {
    OCANNL_RETURN_IF_ERROR(CheckIsOnInterpreter(line, "explain_nonfinite"));
    observers.push_back(std::make_unique<interp::ExplainNonfinite>());
  }
  return observers;
}

}  // namespace

absl::StatusOr<PassOptions> PassOptionsOf(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(Selection selection, SelectionOf(line));
  return std::move(selection.loops);
}

absl::StatusOr<std::vector<std::string>> SkippedCodePasses(
    const CommandLine& line) {
  if (!line.Has("skip") && !line.Has("stop_after") && !line.Has("limit")) {
    return Names();
  }
  OCANNL_ASSIGN_OR_RETURN(Selection selection, SelectionOf(line));
  return std::move(selection.skipped);
}

absl::StatusOr<const Backend*> TierOf(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(const DebugLogs debug, StartDebug(line));
  OCANNL_ASSIGN_OR_RETURN(TierOptions options, OptionsOf(line, debug));
  OCANNL_ASSIGN_OR_RETURN(Observers observers, ObserversOf(line, debug));
  if (!observers.empty()) {
    if (options.profile) {
      return UserError("--profile cannot measure what --log_runs and ",
                       "--explain_nonfinite watch; leave one of them out");
    }
    const Backend* interp = Observed(std::move(observers));
    return options.trace ? Traced(interp) : interp;
  }
  OCANNL_ASSIGN_OR_RETURN(bool check, line.GetBool("check"));
  OCANNL_ASSIGN_OR_RETURN(const Backend* tier,
                          FindTier(line.GetString("tier"), options));
  return check ? Checked(tier) : tier;
}

absl::StatusOr<std::vector<NamedTier>> TiersOf(const CommandLine& line) {
  const std::string wanted = line.GetString("tier");
  if (wanted != "all") {
    OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
    return std::vector<NamedTier>{{wanted, backend}};
  }
  OCANNL_ASSIGN_OR_RETURN(const DebugLogs debug, StartDebug(line));
  OCANNL_RETURN_IF_ERROR(ObserversOf(line, debug).status());
  OCANNL_ASSIGN_OR_RETURN(TierOptions options, OptionsOf(line, debug));
  std::vector<NamedTier> tiers;
  for (const std::string& name : AvailableTiers()) {
    OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier(name, options));
    tiers.push_back({name, backend});
  }
  options.profile = false;  // of the host's tiers
  const absl::StatusOr<const Backend*> cuda = FindTier("cuda", options);
  if (cuda.ok()) tiers.push_back({"cuda", *cuda});  // where there is a GPU
  return tiers;
}

void ReportTier(const CommandLine& line, const Stream& stream) {
  if (line.GetBool("tier_report").value_or(false)) WriteTierReport(stream);
}

void WriteTierReport(const Stream& stream) {
  const Backend& backend = stream.device().backend();
  const std::string report = backend.Report() + stream.Report();
  if (report.empty()) {
    std::cerr << backend.name() << " is one tier: nothing to report\n";
    return;
  }
  for (absl::string_view line :
       absl::StrSplit(absl::StripSuffix(report, "\n"), '\n')) {
    std::cerr << WrapWords(line, 0, 4) << "\n";
  }
}

absl::StatusOr<DebugLogs> StartDebug(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(const std::set<std::string> parts,
                          DebugPartsOf(line.GetString("debug")));
  if (parts.empty()) return DebugLogs{};
  // Names that the user has not given lead nowhere else.
  const std::string above = UserPath("build_files");
  const std::string directory =
      RankPath(absl::StrCat(above, "/", program_invocation_short_name));
  for (const std::string& path :
       {above, directory, directory + "/log.html", directory + "/runs.log"}) {
    OCANNL_RETURN_IF_ERROR(CheckNoLink(path));
  }
  OCANNL_RETURN_IF_ERROR(MakeDirectory(directory));
  if (parts.contains("stages") || parts.contains("hosted")) {
    train::EnableAllDebugs(
        {.directory = parts.contains("stages") ? directory : "",
         .hosted = parts.contains("hosted"),
         .log_level = 0});
  }
  auto path = [&](const char* part, const char* name) {
    return parts.contains(part) ? absl::StrCat(directory, "/", name) : "";
  };
  return DebugLogs{.log = path("log", "log.html"),
                   .runs = path("runs", "runs.log"),
                   .stages = parts.contains("stages") ? directory : ""};
}

}  // namespace ocannl
