// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/settings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/open_file.h"

namespace ocannl {
namespace {

constexpr char kPrefix[] = "OCANNL_";
constexpr char kFileName[] = "ocannl_config";

using Words = std::vector<std::string>;

std::string VariableOf(absl::string_view key) {
  return absl::StrCat(kPrefix, absl::AsciiStrToUpper(key));
}

// `known` are the names that may stand at `place`.
absl::Status Unknown(absl::string_view place, absl::string_view name,
                     const Words& known) {
  return absl::InvalidArgumentError(absl::StrCat(
      place, "`", name, "` is no setting", NearNamesHint(name, known)));
}

struct ConfigFile {
  std::string path;
  std::string text;
};

absl::Status InsecureError(const std::string& path, absl::string_view message) {
  return absl::FailedPreconditionError(absl::StrCat(path, " ", message));
}

// The contents of the file, which is there. Error: it may not be obeyed.
absl::StatusOr<std::string> ReadOwnFile(const std::filesystem::path& path) {
  absl::StatusOr<OpenFile> file = OpenFile::Open(path.string(), O_RDONLY);
  if (absl::IsNotFound(file.status())) {
    return InsecureError(path, "is a link to nothing; remove it");
  }
  OCANNL_RETURN_IF_ERROR(file.status());
  if (!S_ISREG(file->stat().st_mode)) {
    return InsecureError(path,
                         absl::StrCat("is ", KindOf(file->stat()),
                                      ", not a file of settings; remove it"));
  }
  struct stat directory = {};
  if (stat(path.parent_path().c_str(), &directory) != 0) {
    return SystemError("open", path.parent_path().string());
  }
  if (!IsTrusted(file->stat()) || !IsTrusted(directory)) {
    return InsecureError(
        path,
        "or its directory belongs to another user; move it to a "
        "directory of your own");
  }
  if (MayOthersWrite(file->stat()) || MayOthersWrite(directory)) {
    // One such as /tmp is for all.
    const bool is_shared =
        MayOthersWrite(directory) &&
        (directory.st_uid != geteuid() || (directory.st_mode & S_ISVTX) != 0);
    const std::string fix =
        is_shared
            ? "move it to a directory of your own"
            : absl::StrCat("run chmod go-w ", MayOthersWrite(directory)
                                                  ? path.parent_path().string()
                                                  : path.string());
    return InsecureError(path, absl::StrCat("can be changed by others; ", fix));
  }
  return file->Read(kMostTextBytes);
}

// The file, if the user or root has put it there.
absl::StatusOr<std::optional<ConfigFile>> FileAt(
    const std::filesystem::path& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0 || !IsTrusted(found)) {
    return std::nullopt;
  }
  OCANNL_ASSIGN_OR_RETURN(std::string text, ReadOwnFile(path));
  return ConfigFile{.path = path.string(), .text = std::move(text)};
}

// The file in `directory` or the nearest one above it, but for the user's.
absl::StatusOr<std::optional<ConfigFile>> ProjectFile(
    const std::string& directory, const std::filesystem::path& users) {
  std::error_code error;
  std::filesystem::path place =
      std::filesystem::absolute(directory, error).lexically_normal();
  if (error) return std::nullopt;
  for (;; place = place.parent_path()) {
    const std::filesystem::path path = place / kFileName;
    if (!std::filesystem::equivalent(path, users, error)) {
      OCANNL_ASSIGN_OR_RETURN(std::optional<ConfigFile> file, FileAt(path));
      if (file) return file;
    }
    if (!place.has_relative_path()) break;
  }
  return std::nullopt;
}

// The value of the last line NAME=VALUE; empty: none.
absl::string_view ValueOf(absl::Span<const std::string> environment,
                          absl::string_view name) {
  absl::string_view value;
  for (absl::string_view line : environment) {
    if (absl::ConsumePrefix(&line, name) && absl::ConsumePrefix(&line, "=")) {
      value = line;
    }
  }
  return value;
}

bool IsAbsolute(absl::string_view path) { return absl::StartsWith(path, "/"); }

// Empty: nowhere.
std::filesystem::path PathOfUsersFile(
    absl::Span<const std::string> environment) {
  const std::string folder =
      UsersFolder(environment, "XDG_CONFIG_HOME", ".config");
  if (folder.empty()) return {};
  return (std::filesystem::path(folder) / kFileName).lexically_normal();
}

absl::string_view WhatItSays(SettingKind kind) {
  return kind == SettingKind::kCodePath ? "what code to load" : "what to write";
}

// Error: the setting, which is not of a project's file, names a relative path.
absl::Status CheckPath(const SettingKey& key, const SettingValue& setting) {
  if ((key.kind != SettingKind::kOutputPath &&
       key.kind != SettingKind::kCodePath) ||
      setting.value.empty() || IsAbsolute(setting.value)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      setting.origin, " says ", WhatItSays(key.kind), ", and `", setting.value,
      "` is a relative path, which is another one in each directory; write ",
      "one that begins with /"));
}

constexpr char kAnyLine[] = "KEY = VALUE";

// The line that is meant by one such as `tier: x86` or `export
// OCANNL_TIER=x86`: the first of its words that is a key, with the next one as
// its value.
std::string LineFor(absl::string_view line, const Words& names) {
  const std::string lower = absl::AsciiStrToLower(line);
  const Words words =
      absl::StrSplit(lower, absl::ByAnyChar(" =:\"'{},\t"), absl::SkipEmpty());
  for (size_t k = 0; k + 1 < words.size(); ++k) {
    absl::string_view key = words[k];
    absl::ConsumePrefix(&key, "--");
    absl::ConsumePrefix(&key, "ocannl_");
    if (!absl::c_linear_search(names, key)) continue;
    const size_t value = lower.rfind(words[k + 1]);
    return absl::StrCat(key, " = ", line.substr(value, words[k + 1].size()));
  }
  return kAnyLine;
}

// `users` is empty, or the path of the user's file where this is a project's.
absl::Status AddFile(const ConfigFile& file, const std::string& users,
                     absl::Span<const SettingKey> keys, const Words& names,
                     Settings& settings) {
  Settings found;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(file.text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::string place = absl::StrCat(file.path, ":", number, ": ");
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, "`", line, "` is no setting; write ", LineFor(line, names)));
    }
    const std::string key(
        absl::StripTrailingAsciiWhitespace(line.substr(0, equals)));
    const auto known = absl::c_find(names, key);
    if (known == names.end()) {
      const std::string fix = LineFor(line, names);
      if (fix == kAnyLine) return Unknown(place, key, names);
      return absl::InvalidArgumentError(
          absl::StrCat(place, "`", key, "` is no setting; write ", fix));
    }
    const SettingKey& of = keys[known - names.begin()];
    if (!users.empty() && of.kind != SettingKind::kPlain) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, "`", key, "` says ", WhatItSays(of.kind), ", which the file ",
          "of a project may not; move the line to ", users, ", or set ",
          VariableOf(key)));
    }
    const SettingValue setting{
        .value = std::string(
            absl::StripLeadingAsciiWhitespace(line.substr(equals + 1))),
        .origin = place + key};
    OCANNL_RETURN_IF_ERROR(CheckPath(of, setting));
    if (!found.emplace(key, setting).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, "`", key, "` is set twice; the first is ", found[key].origin));
    }
  }
  for (auto& [key, setting] : found) settings[key] = std::move(setting);
  return absl::OkStatus();
}

absl::Status AddVariables(absl::Span<const std::string> environment,
                          absl::Span<const SettingKey> keys,
                          Settings& settings) {
  Words names;
  for (const SettingKey& key : keys) names.push_back(VariableOf(key.name));
  for (absl::string_view line : environment) {
    if (!absl::StartsWithIgnoreCase(line, kPrefix)) continue;
    const std::pair<std::string, std::string> variable =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    const std::string capitals = absl::AsciiStrToUpper(variable.first);
    const auto name = absl::c_find(names, variable.first);
    if (name == names.end() && absl::c_linear_search(names, capitals)) {
      return absl::InvalidArgumentError(
          absl::StrCat("in the environment, `", variable.first,
                       "` is no setting; write ", capitals));
    }
    if (name == names.end()) {
      return Unknown("in the environment, ", variable.first, names);
    }
    const SettingKey& key = keys[name - names.begin()];
    const SettingValue setting{.value = variable.second,
                               .origin = variable.first};
    OCANNL_RETURN_IF_ERROR(CheckPath(key, setting));
    settings[key.name] = setting;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Settings> FindSettings(absl::Span<const SettingKey> keys,
                                      absl::Span<const std::string> environment,
                                      const std::string& directory) {
  Words known;
  for (const SettingKey& key : keys) known.push_back(key.name);
  Settings settings;
  const std::filesystem::path users = PathOfUsersFile(environment);
  if (!users.empty()) {
    OCANNL_ASSIGN_OR_RETURN(std::optional<ConfigFile> own, FileAt(users));
    if (own) OCANNL_RETURN_IF_ERROR(AddFile(*own, "", keys, known, settings));
  }
  OCANNL_ASSIGN_OR_RETURN(std::optional<ConfigFile> project,
                          ProjectFile(directory, users));
  if (project) {
    const std::string fix =
        users.empty() ? "~/.config/ocannl/ocannl_config" : users.string();
    OCANNL_RETURN_IF_ERROR(AddFile(*project, fix, keys, known, settings));
  }
  OCANNL_RETURN_IF_ERROR(AddVariables(environment, keys, settings));
  return settings;
}

absl::Status CheckCodePath(absl::string_view origin, absl::string_view value) {
  return CheckPath(
      {.name = "", .kind = SettingKind::kCodePath},
      {.value = std::string(value), .origin = std::string(origin)});
}

std::vector<std::string> Environment() {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    lines.emplace_back(*line);
  }
  return lines;
}

std::string UsersFolder(absl::Span<const std::string> environment,
                        absl::string_view variable,
                        absl::string_view fallback) {
  const absl::string_view folder = ValueOf(environment, variable);
  if (IsAbsolute(folder)) return absl::StrCat(folder, "/ocannl");
  const absl::string_view home = ValueOf(environment, "HOME");
  if (!IsAbsolute(home)) return "";
  return absl::StrCat(home, "/", fallback, "/ocannl");
}

}  // namespace ocannl
