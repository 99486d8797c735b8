// SPDX-License-Identifier: Apache-2.0
#include "ocannl/debug_flag.h"

#include <cerrno>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/open_file.h"
#include "ocannl/distributed_flags.h"
#include "ocannl/train/debug.h"

namespace ocannl {
namespace {

// What `value` asks for.
absl::StatusOr<std::set<std::string>> PartsOf(absl::string_view value) {
  std::set<std::string> parts;
  for (absl::string_view part :
       absl::StrSplit(value, ',', absl::SkipWhitespace())) {
    if (part == "all") {
      parts.insert({"stages", "hosted", "log"});
    } else if (part == "stages" || part == "hosted" || part == "log" ||
               part == "runs") {
      parts.emplace(part);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "--debug cannot be `", part, "`; it is all, or some of stages, ",
          "hosted, log and runs, with commas between"));
    }
  }
  return parts;
}

}  // namespace

Flag DebugFlag() {
  return {"debug", "",
          "all, or stages,hosted,log,runs: into build_files/PROGRAM",
          SettingKind::kOutput};
}

absl::StatusOr<DebugLogs> StartDebug(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(const std::set<std::string> parts,
                          PartsOf(line.GetString("debug")));
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
