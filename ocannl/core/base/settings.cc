// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/settings.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr char kPrefix[] = "OCANNL_";

using Words = std::vector<std::string>;

// `known` are the names that may stand at `place`.
absl::Status Unknown(absl::string_view place, absl::string_view name,
                     const Words& known) {
  return absl::InvalidArgumentError(absl::StrCat(
      place, "`", name, "` is no setting", NearNamesHint(name, known)));
}

// The file in `directory` or the nearest one above it.
std::optional<std::string> FindFile(const std::string& directory) {
  std::error_code error;
  std::filesystem::path place =
      std::filesystem::absolute(directory, error).lexically_normal();
  while (!error) {
    const std::filesystem::path file = place / "ocannl_config";
    if (std::filesystem::is_regular_file(file, error)) return file.string();
    if (!place.has_relative_path()) break;
    place = place.parent_path();
    error.clear();  // a directory that may not be read holds no file for us
  }
  return std::nullopt;
}

absl::Status AddFile(const std::string& path, const Words& keys,
                     Settings& settings) {
  OCANNL_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::string place = absl::StrCat(path, ":", number, ": ");
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, "`", line, "` is no setting; write KEY = VALUE"));
    }
    const std::string key(
        absl::StripTrailingAsciiWhitespace(line.substr(0, equals)));
    if (!absl::c_linear_search(keys, key)) return Unknown(place, key, keys);
    const SettingValue setting{
        .value = std::string(
            absl::StripLeadingAsciiWhitespace(line.substr(equals + 1))),
        .origin = place + key};
    if (!settings.emplace(key, setting).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, "`", key, "` is set twice; the first is ",
                       settings[key].origin));
    }
  }
  return absl::OkStatus();
}

absl::Status AddVariables(absl::Span<const std::string> environment,
                          const Words& keys, Settings& settings) {
  Words names;
  for (const std::string& key : keys) {
    names.push_back(absl::StrCat(kPrefix, absl::AsciiStrToUpper(key)));
  }
  for (absl::string_view line : environment) {
    if (line.substr(0, sizeof(kPrefix) - 1) != kPrefix) continue;
    const std::pair<std::string, std::string> variable =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    const auto name = absl::c_find(names, variable.first);
    if (name == names.end()) {
      return Unknown("in the environment, ", variable.first, names);
    }
    settings[keys[name - names.begin()]] = {.value = variable.second,
                                            .origin = variable.first};
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Settings> FindSettings(absl::Span<const std::string> keys,
                                      absl::Span<const std::string> environment,
                                      const std::string& directory) {
  const Words known(keys.begin(), keys.end());
  Settings settings;
  if (std::optional<std::string> path = FindFile(directory)) {
    OCANNL_RETURN_IF_ERROR(AddFile(*path, known, settings));
  }
  OCANNL_RETURN_IF_ERROR(AddVariables(environment, known, settings));
  return settings;
}

std::vector<std::string> Environment() {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    lines.emplace_back(*line);
  }
  return lines;
}

}  // namespace ocannl
