// SPDX-License-Identifier: Apache-2.0
//
// CommandLine: the flags and arguments of one command.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       CommandLine line,
//       CommandLine::Parse(args, {{"epochs", "80", "how often to see all"}}));
//   OCANNL_ASSIGN_OR_RETURN(int64_t epochs, line.GetInt("epochs", 1, 1000));
//
// A flag is --name=value or --name value. One whose default is true or false is
// a switch: --name alone means --name=true. `--` ends the flags. A flag may be
// given more than once: GetAll sees all values, the others the last. What the
// line does not give may come from settings (settings.h).
#ifndef OCANNL_CORE_BASE_COMMAND_LINE_H_
#define OCANNL_CORE_BASE_COMMAND_LINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/settings.h"

namespace ocannl {

struct Flag {
  std::string name;
  std::string default_value;  // empty: none
  std::string help;           // empty: another flag's tells of it
  SettingKind kind = SettingKind::kPlain;
};

class CommandLine {
 public:
  // Errors: a flag that is not one of `flags`, with near names; a flag without
  // its value; a relative path of code. Settings of other flags are ignored.
  static absl::StatusOr<CommandLine> Parse(absl::Span<const std::string> args,
                                           std::vector<Flag> flags,
                                           const Settings& settings = {});

  // The arguments that are not flags.
  const std::vector<std::string>& positional() const { return positional_; }

  // Whether the flag was given, or set.
  bool Has(absl::string_view name) const { return given_.contains(name); }

  // The value, or the default. The getters of other types fail on a value that
  // is not one, or not in [low, high]; the message names flag, or setting, and
  // range.
  const std::string& GetString(absl::string_view name) const;
  std::vector<std::string> GetAll(absl::string_view name) const;
  absl::StatusOr<bool> GetBool(absl::string_view name) const;
  absl::StatusOr<int64_t> GetInt(absl::string_view name, int64_t low,
                                 int64_t high) const;
  // Integers separated by commas.
  absl::StatusOr<std::vector<int64_t>> GetIntList(absl::string_view name,
                                                  int64_t low,
                                                  int64_t high) const;

  // What the settings gave: " (set: OCANNL_TIER=x86)"; empty: nothing. For
  // messages of what happens later.
  std::string DescribeSettings() const;

  // For each flag its name with the default and, beside it, its help; 80
  // columns wide.
  static std::string Help(absl::Span<const Flag> flags);

 private:
  // "--threads", or where else its value comes from.
  std::string Describe(absl::string_view name) const;
  absl::StatusOr<int64_t> ParseInt(absl::string_view name,
                                   absl::string_view text, int64_t low,
                                   int64_t high) const;

  std::vector<Flag> flags_;
  absl::flat_hash_map<std::string, std::vector<std::string>> given_;
  absl::flat_hash_map<std::string, std::string> origins_;  // of settings
  std::vector<std::string> positional_;
};

// The words of `text` in lines that end at column 80, except for longer words.
// The first line continues one that has `used` columns, the others start with
// `indent` blanks. No newline at the end. Counts bytes.
std::string WrapWords(absl::string_view text, size_t used, size_t indent);

// Of a program whose command line is wrong.
inline constexpr int kUsageExitCode = 2;

// The exit code of a program that ends with the error: kUsageExitCode if the
// value of a flag is wrong, which messages of that begin with, else 1.
int ExitCodeOfError(const absl::Status& status);

// A path as the user means it: `bazel run` starts programs elsewhere and names
// the user's directory in $BUILD_WORKING_DIRECTORY.
std::string UserPath(const std::string& path);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_COMMAND_LINE_H_
