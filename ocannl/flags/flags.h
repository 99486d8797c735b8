// SPDX-License-Identifier: Apache-2.0
//
// The flags of the tool and those that programs share, by flags.def, and the
// settings among them (core/base/settings.h), which SETTINGS.md lists.
//
//   const std::vector<Flag> flags = FlagsOf(kTierFlags | kPassFlags);
//   OCANNL_ASSIGN_OR_RETURN(CommandLine line, ParseWithSettings(args, flags));
//   if (ShowsHelp(line, "Trains a network.\n", flags, std::cout)) return 0;
#ifndef OCANNL_FLAGS_FLAGS_H_
#define OCANNL_FLAGS_FLAGS_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/command_line.h"

namespace ocannl {

// Who has a flag; a union of them is a set of flags.
enum FlagGroup : unsigned {
  kRunFlags = 1 << 0,  // these and kTuneFlags: one command of the tool
  kEvalFlags = 1 << 1,
  kExplainFlags = 1 << 2,
  kFuzzFlags = 1 << 3,
  kExpressionFlags = 1 << 4,  // commands that read an expression
  kTierFlags = 1 << 5,        // what runs programs on a tier (run_options.h)
  kPassFlags = 1 << 6,        // what chooses passes (run_options.h)
  kRankFlags = 1 << 7,        // what trains in several processes (ranks.h)
  kShardFlags = 1 << 8,       // what does so with any number of shards
  kProgramFlags = 1 << 9,     // every program: --help and --version
  kSettingFlags = 1 << 10,    // the settings
  kTuneFlags = 1 << 11,
};

// The flags of those groups, in the order of the table.
std::vector<Flag> FlagsOf(unsigned groups);

// The first flag of that name, which must be in the table.
Flag FlagNamed(absl::string_view name);

// The command line of a program with `flags` and kProgramFlags. Settings of the
// environment and of the user's directory complete it. Errors: as of
// CommandLine::Parse and FindSettings.
absl::StatusOr<CommandLine> ParseWithSettings(
    absl::Span<const std::string> args, std::vector<Flag> flags);

// "ocannl 0.7.0".
std::string VersionText();

// Whether the line asks for help or the version, which it then writes to `out`:
// `head`, which ends its lines, and `flags`, in full if they are no settings.
bool ShowsHelp(const CommandLine& line, absl::string_view head,
               absl::Span<const Flag> flags, std::ostream& out);

}  // namespace ocannl

#endif  // OCANNL_FLAGS_FLAGS_H_
