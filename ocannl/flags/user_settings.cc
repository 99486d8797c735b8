// SPDX-License-Identifier: Apache-2.0
#include "ocannl/flags/user_settings.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/run_options.h"

namespace ocannl {
namespace {

absl::StatusOr<UserSettings> SettingsOf(const CommandLine& line) {
  UserSettings settings;
  OCANNL_ASSIGN_OR_RETURN(settings.backend, TierOf(line));
  OCANNL_ASSIGN_OR_RETURN(settings.passes, PassOptionsOf(line));
  OCANNL_ASSIGN_OR_RETURN(settings.tier_report, line.GetBool("tier_report"));
  return settings;
}

}  // namespace

absl::StatusOr<UserSettings> FindUserSettings() {
  OCANNL_ASSIGN_OR_RETURN(CommandLine line,
                          ParseWithSettings({}, FlagsOf(kSettingFlags)));
  absl::StatusOr<UserSettings> settings = SettingsOf(line);
  if (settings.ok()) return settings;
  return absl::Status(
      settings.status().code(),
      absl::StrCat(settings.status().message(), line.DescribeSettings()));
}

void ReportTier(const UserSettings& settings, const Stream& stream) {
  if (settings.tier_report) WriteTierReport(stream);
}

}  // namespace ocannl
