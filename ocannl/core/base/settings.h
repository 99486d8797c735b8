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
// A user who may write a file decides what our programs do. So a file is
// ignored if it belongs to another user than this user and root. A file that
// others may write or replace is an error, such as a file in a directory of
// theirs. An unpacked archive belongs to the user, but its text does not: a
// project's file may not name code to load or files to write.
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

// The settings of `keys`. `environment` has lines NAME=VALUE; XDG_CONFIG_HOME
// or else HOME of them give the place of the user's file. Errors name the
// variable, or file and line, and the fix: an unknown key, with near names; a
// line that is not KEY = VALUE; a key twice in a file. Also errors: a relative
// path; a kind other than kPlain in a project's file. The user's file is an
// error if it is not a plain file or others may write it. It is one too if its
// directory belongs to another user, or others may write that.
absl::StatusOr<Settings> FindSettings(absl::Span<const SettingKey> keys,
                                      absl::Span<const std::string> environment,
                                      const std::string& directory);

// Error: the value names code by a relative path, which is another directory's
// code wherever the program is run. `origin` is "--cuda_home",
// OCANNL_CUDA_HOME.
absl::Status CheckCodePath(absl::string_view origin, absl::string_view value);

// The environment of this process.
std::vector<std::string> Environment();

// The user's folder `ocannl` by the XDG Base Directory Specification 0.8: in
// the one that `variable` of the environment names, such as XDG_CACHE_HOME, or
// else in `fallback` of HOME. Empty: neither is an absolute path.
std::string UsersFolder(absl::Span<const std::string> environment,
                        absl::string_view variable, absl::string_view fallback);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SETTINGS_H_
