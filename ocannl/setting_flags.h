// SPDX-License-Identifier: Apache-2.0
//
// The flags that settings (core/base/settings.h) give values to, for the tool
// and moons; SETTINGS.md lists them.
#ifndef OCANNL_SETTING_FLAGS_H_
#define OCANNL_SETTING_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/command_line.h"

namespace ocannl {

// TierFlags, PassFlags and jit_symbols, which no command has.
const std::vector<Flag>& SettingFlags();

// The command line, where it gives nothing completed by the settings of the
// environment and of the user's directory. Errors: as of CommandLine::Parse and
// FindSettings.
absl::StatusOr<CommandLine> ParseWithSettings(
    absl::Span<const std::string> args, std::vector<Flag> flags);

}  // namespace ocannl

#endif  // OCANNL_SETTING_FLAGS_H_
