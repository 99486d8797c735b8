// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tier_flags.h"

#include <iostream>
#include <string>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/tiers.h"

namespace ocannl {

const std::vector<Flag>& TierFlags() {
  static const auto* flags = new std::vector<Flag>{
      {"tier", "auto", "what runs it: interp, x86, cuda or auto"},
      {"threads", "0", "how many run one program; 0: one for each processor"},
      {"check", "false",
       "run everything on the interpreter too, and compare every bit"},
      {"code_cache", "",
       "a directory that keeps machine code for the next process"},
      {"tier_report", "false",
       "write to stderr what ran on which tier, and why"}};
  return *flags;
}

namespace {

absl::StatusOr<TierOptions> OptionsOf(const CommandLine& line) {
  TierOptions options{.code_cache = line.GetString("code_cache")};
  OCANNL_ASSIGN_OR_RETURN(int64_t threads, line.GetInt("threads", 0, 1024));
  options.threads = static_cast<int>(threads);
  OCANNL_ASSIGN_OR_RETURN(options.report, line.GetBool("tier_report"));
  return options;
}

}  // namespace

absl::StatusOr<const Backend*> TierOf(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(TierOptions options, OptionsOf(line));
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
  OCANNL_ASSIGN_OR_RETURN(TierOptions options, OptionsOf(line));
  std::vector<NamedTier> tiers;
  for (const std::string& name : AvailableTiers()) {
    OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier(name, options));
    tiers.push_back({name, backend});
  }
  return tiers;
}

void ReportTier(const CommandLine& line, const Stream& stream) {
  if (!line.GetBool("tier_report").value_or(false)) return;
  const Backend& backend = stream.device().backend();
  std::string report = backend.Report() + stream.Report();
  std::cerr << (report.empty() ? std::string(backend.name()) +
                                     " is one tier: nothing to report\n"
                               : report);
}

}  // namespace ocannl
