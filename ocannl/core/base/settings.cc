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

using Words = std::vector<std::string>;

// `known` are the names that may stand at `place`.
absl::Status Unknown(absl::string_view place, absl::string_view name,
                     const Words& known) {
  return absl::InvalidArgumentError(absl::StrCat(
      place, "`", name, "` is no setting", NearNamesHint(name, known)));
}

struct ConfigFile {
  std::string path;
  std::string text;
  bool is_above;  // in a directory above the user's
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

// The file in `directory` or the nearest one above it that the user or root
// has put there.
absl::StatusOr<std::optional<ConfigFile>> FindFile(
    const std::string& directory) {
  std::error_code error;
  const std::filesystem::path start =
      std::filesystem::absolute(directory, error).lexically_normal();
  for (std::filesystem::path place = start; !error;
       place = place.parent_path()) {
    const std::filesystem::path file = place / "ocannl_config";
    struct stat found = {};
    if (lstat(file.c_str(), &found) == 0 && IsTrusted(found)) {
      OCANNL_ASSIGN_OR_RETURN(std::string text, ReadOwnFile(file));
      return ConfigFile{.path = file.string(),
                        .text = std::move(text),
                        .is_above = place != start};
    }
    if (!place.has_relative_path()) break;
  }
  return std::nullopt;
}

absl::Status AddFile(const ConfigFile& file, absl::Span<const SettingKey> keys,
                     const Words& names, Settings& settings) {
  int number = 0;
  for (absl::string_view line : absl::StrSplit(file.text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::string place = absl::StrCat(file.path, ":", number, ": ");
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, "`", line, "` is no setting; write KEY = VALUE"));
    }
    const std::string key(
        absl::StripTrailingAsciiWhitespace(line.substr(0, equals)));
    const auto known = absl::c_find(names, key);
    if (known == names.end()) return Unknown(place, key, names);
    if (file.is_above && keys[known - names.begin()].is_output) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, "`", key, "` says where to write, which the file of another ",
          "directory may not; move the line to the environment, as ", kPrefix,
          absl::AsciiStrToUpper(key)));
    }
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

absl::StatusOr<Settings> FindSettings(absl::Span<const SettingKey> keys,
                                      absl::Span<const std::string> environment,
                                      const std::string& directory) {
  Words known;
  for (const SettingKey& key : keys) known.push_back(key.name);
  Settings settings;
  OCANNL_ASSIGN_OR_RETURN(std::optional<ConfigFile> file, FindFile(directory));
  if (file) OCANNL_RETURN_IF_ERROR(AddFile(*file, keys, known, settings));
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
