// SPDX-License-Identifier: Apache-2.0
//
// Settings: values of flags for all commands that are run somewhere.
//
//   export OCANNL_TIER=interp      in the environment
//   tier = interp                  in a project's file: `ocannl_config` of the
//                                  directory, or of the nearest one above that
//                                  has it
//   tier = interp                  in the user's file:
//                                  ~/.config/ocannl/ocannl_config
//
// The command line goes before the environment, the project's file, and the
// user's file, in this order. Empty lines of a file and those that start with #
// are comments.
//
// Whoever may write a file decides what our programs do: one that belongs to
// somebody else than the user and root is none, and one that others may write
// or replace, such as one in a directory of theirs, is an error. An unpacked
// archive belongs to the user, but its text does not: a project's file may
// neither name code to load nor files to write.
#ifndef OCANNL_CORE_BASE_SETTINGS_H_
#define OCANNL_CORE_BASE_SETTINGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ocannl {

struct SettingValue {
  std::string value;
  std::string origin;  // "OCANNL_TIER", "/home/me/ocannl_config:3: tier"
};
using Settings = std::map<std::string, SettingValue>;  // by key

// What a value can do.
enum class SettingKind {
  kPlain,       // changes how a program runs
  kOutput,      // writes files, whose paths it does not name
  kOutputPath,  // names a file or directory to write
  kCodePath,    // names a directory to load code from
};

struct SettingKey {
  std::string name;
  SettingKind kind = SettingKind::kPlain;
};

// The settings of `keys`; `environment` has lines NAME=VALUE, of which
// XDG_CONFIG_HOME or else HOME say where the user's file is. Errors: a variable
// or a line whose key is none, with near names; a line that is no KEY = VALUE;
// a key twice in a file; a kind other than kPlain in a project's file; a
// relative path; a file of the user that others may write, or that is in a
// directory which is another's or which others may write, or that is itself a
// directory, a pipe or a link to nothing. They name the variable, or file and
// line, and the fix.
absl::StatusOr<Settings> FindSettings(absl::Span<const SettingKey> keys,
                                      absl::Span<const std::string> environment,
                                      const std::string& directory);

// Error: the value names code by a relative path, which is another directory's
// code wherever the program is run. `origin` is "--cuda_home",
// OCANNL_CUDA_HOME.
absl::Status CheckCodePath(absl::string_view origin, absl::string_view value);

// The environment of this process.
std::vector<std::string> Environment();

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SETTINGS_H_
