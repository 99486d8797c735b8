// SPDX-License-Identifier: Apache-2.0
//
// The flags that the tool and the experiments share: those that settings
// (core/base/settings.h) give values to, which SETTINGS.md lists, and --help
// and --version.
#ifndef OCANNL_SETTING_FLAGS_H_
#define OCANNL_SETTING_FLAGS_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/command_line.h"

namespace ocannl {

// TierFlags, PassFlags, ShardedFlags, and jit_symbols, which no command
// has.
const std::vector<Flag>& SettingFlags();

// The command line, where it gives nothing completed by the settings of the
// environment and of the user's directory. Errors: as of CommandLine::Parse and
// FindSettings.
absl::StatusOr<CommandLine> ParseWithSettings(
    absl::Span<const std::string> args, std::vector<Flag> flags);

// --help and --version.
const std::vector<Flag>& ProgramFlags();

// "ocannl 0.2.0".
std::string VersionText();

// Whether the line asks for help or the version, which it then writes to `out`:
// `head`, which ends its lines, and `flags`, in full if they are no settings.
bool ShowsHelp(const CommandLine& line, absl::string_view head,
               absl::Span<const Flag> flags, std::ostream& out);

}  // namespace ocannl

#endif  // OCANNL_SETTING_FLAGS_H_
