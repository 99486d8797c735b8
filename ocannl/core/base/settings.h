// SPDX-License-Identifier: Apache-2.0
//
// Settings: values of flags for all commands that are run somewhere.
//
//   export OCANNL_TIER=interp      in the environment
//   tier = interp                  in a file `ocannl_config` of the directory,
//                                  or the nearest one above that has it
//
// The command line goes before the environment, which goes before the file.
// Empty lines of the file and those that start with # are comments.
//
// Whoever may write the file decides what our programs do: one that belongs to
// somebody else than the user and root is none, and one that others may write
// or replace, such as one in a directory of theirs, is an error. A directory
// above never says where to write.
#ifndef OCANNL_CORE_BASE_SETTINGS_H_
#define OCANNL_CORE_BASE_SETTINGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ocannl {

struct SettingValue {
  std::string value;
  std::string origin;  // "OCANNL_TIER", "/home/me/ocannl_config:3: tier"
};
using Settings = std::map<std::string, SettingValue>;  // by key

struct SettingKey {
  std::string name;
  bool is_output = false;  // names what is written
};

// The settings of `keys`; `environment` has lines NAME=VALUE. Errors: a
// variable or a line whose key is none, with near names; a line that is no
// KEY = VALUE; a key twice in the file; an output in the file of a directory
// above; a file of the user that others may write, or that is in a directory
// which is another's or which others may write, or that is itself a directory,
// a pipe or a link to nothing. They name the variable, or file and line.
absl::StatusOr<Settings> FindSettings(absl::Span<const SettingKey> keys,
                                      absl::Span<const std::string> environment,
                                      const std::string& directory);

// The environment of this process.
std::vector<std::string> Environment();

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SETTINGS_H_
