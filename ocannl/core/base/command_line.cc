// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"

namespace ocannl {
namespace {

// Whether all but two letters in a row, at most, are the same: `rate` is no
// slip for `data`.
bool DiffersInOnePlace(absl::string_view a, absl::string_view b) {
  const auto begin = absl::c_mismatch(a, b).first - a.begin();
  const auto end =
      std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first -
      a.rbegin();
  return begin + end + 2 >= std::ssize(a) && begin + end + 2 >= std::ssize(b);
}

// `arg` is --name or --name=value.
absl::Status UnknownFlag(absl::string_view arg, absl::string_view name,
                         absl::Span<const Flag> flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.push_back(flag.name);
  std::vector<std::string> near = NearNames(name, names);
  if (name.size() < 6) {
    std::erase_if(near, [&](const std::string& other) {
      return !DiffersInOnePlace(name, other);
    });
  }
  // Of --input for --in, the near names are of other lengths.
  for (const std::string& other : names) {
    const bool begins = absl::StartsWith(name, other) ||
                        (name.size() > 2 && absl::StartsWith(other, name));
    if (begins && near.empty()) near.push_back(other);
  }
  std::string fix =
      near.empty()
          ? "see --help"
          : absl::StrCat("did you mean --", absl::StrJoin(near, ", --"), "?");
  const bool has_value = arg.size() > name.size() + 2;
  if (near.empty() && has_value && absl::c_linear_search(names, "in")) {
    absl::StrAppend(&fix, "; an input is --in=", arg.substr(2));
  }
  return UserError("unknown flag --", name, "; ", fix);
}

bool IsSwitch(const Flag& flag) {
  return flag.default_value == "true" || flag.default_value == "false";
}

}  // namespace

absl::StatusOr<CommandLine> CommandLine::Parse(
    absl::Span<const std::string> args, std::vector<Flag> flags,
    const Settings& settings) {
  CommandLine line;
  line.flags_ = std::move(flags);
  bool flags_ended = false;
  for (size_t k = 0; k < args.size(); ++k) {
    const std::string& arg = args[k];
    if (flags_ended || !absl::StartsWith(arg, "--")) {
      line.positional_.push_back(arg);
      continue;
    }
    if (arg == "--") {
      flags_ended = true;
      continue;
    }
    std::pair<std::string, std::string> parts =
        absl::StrSplit(arg.substr(2), absl::MaxSplits('=', 1));
    auto flag = absl::c_find_if(
        line.flags_, [&](const Flag& f) { return f.name == parts.first; });
    if (flag == line.flags_.end()) {
      return UnknownFlag(arg, parts.first, line.flags_);
    }
    if (!absl::StrContains(arg, "=")) {
      if (IsSwitch(*flag)) {
        parts.second = "true";
      } else if (k + 1 < args.size() && !absl::StartsWith(args[k + 1], "--")) {
        parts.second = args[++k];
      } else {
        return UserError(arg, " needs a value; write ", arg, "=VALUE");
      }
    }
    if (flag->kind == SettingKind::kCodePath) {
      OCANNL_RETURN_IF_ERROR(CheckCodePath("--" + flag->name, parts.second));
    }
    line.given_[parts.first].push_back(parts.second);
  }
  for (const Flag& flag : line.flags_) {
    const auto setting = settings.find(flag.name);
    if (setting == settings.end() || line.Has(flag.name)) continue;
    line.given_[flag.name] = {setting->second.value};
    line.origins_[flag.name] = setting->second.origin;
  }
  return line;
}

std::string CommandLine::Describe(absl::string_view name) const {
  const auto origin = origins_.find(name);
  return origin == origins_.end() ? absl::StrCat("--", name) : origin->second;
}

absl::StatusOr<int64_t> CommandLine::ParseInt(absl::string_view name,
                                              absl::string_view text,
                                              int64_t low, int64_t high) const {
  int64_t value;
  if (absl::SimpleAtoi(text, &value) && value >= low && value <= high) {
    return value;
  }
  return UserError(Describe(name), "=", text, " is not an integer from ", low,
                   " to ", high);
}

const std::string& CommandLine::GetString(absl::string_view name) const {
  auto given = given_.find(name);
  if (given != given_.end()) return given->second.back();
  return absl::c_find_if(flags_,
                         [&](const Flag& flag) { return flag.name == name; })
      ->default_value;
}

std::vector<std::string> CommandLine::GetAll(absl::string_view name) const {
  auto given = given_.find(name);
  return given == given_.end() ? std::vector<std::string>() : given->second;
}

absl::StatusOr<bool> CommandLine::GetBool(absl::string_view name) const {
  bool value;
  if (absl::SimpleAtob(GetString(name), &value)) return value;
  return UserError(Describe(name), "=", GetString(name),
                   " is neither true nor false");
}

absl::StatusOr<int64_t> CommandLine::GetInt(absl::string_view name, int64_t low,
                                            int64_t high) const {
  return ParseInt(name, GetString(name), low, high);
}

absl::StatusOr<std::vector<int64_t>> CommandLine::GetIntList(
    absl::string_view name, int64_t low, int64_t high) const {
  std::vector<int64_t> values;
  for (absl::string_view part :
       absl::StrSplit(GetString(name), ',', absl::SkipEmpty())) {
    OCANNL_ASSIGN_OR_RETURN(int64_t value, ParseInt(name, part, low, high));
    values.push_back(value);
  }
  return values;
}

std::string CommandLine::DescribeSettings() const {
  std::vector<std::string> settings;
  for (const Flag& flag : flags_) {
    const auto origin = origins_.find(flag.name);
    if (origin == origins_.end()) continue;
    settings.push_back(absl::StrCat(origin->second, "=", GetString(flag.name)));
  }
  return settings.empty()
             ? ""
             : absl::StrCat(" (set: ", absl::StrJoin(settings, ", "), ")");
}

std::string CommandLine::Help(absl::Span<const Flag> flags) {
  std::vector<std::string> names;
  size_t width = 0;
  for (const Flag& flag : flags) {
    const bool shows =
        !flag.default_value.empty() && flag.default_value != "false";
    names.push_back(absl::StrCat("  --", flag.name, shows ? "=" : "",
                                 shows ? flag.default_value : "", "  "));
    width = std::max(width, names.back().size());
  }
  std::string text;
  for (size_t k = 0; k < flags.size(); ++k) {
    if (flags[k].help.empty()) continue;
    names[k].resize(width, ' ');
    absl::StrAppend(&text, names[k], WrapWords(flags[k].help, width, width),
                    "\n");
  }
  return text;
}

std::string WrapWords(absl::string_view text, size_t used, size_t indent) {
  constexpr size_t kColumns = 80;
  std::string wrapped;
  bool first = true;  // of its line
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!first && used + 1 + word.size() > kColumns) {
      absl::StrAppend(&wrapped, "\n", std::string(indent, ' '));
      used = indent;
      first = true;
    }
    absl::StrAppend(&wrapped, first ? "" : " ", word);
    used += word.size() + (first ? 0 : 1);
    first = false;
  }
  return wrapped;
}

int ExitCodeOfError(const absl::Status& status) {
  const bool is_of_flag = absl::StartsWith(status.message(), "--") ||
                          absl::StartsWith(status.message(), "no tier ");
  return is_of_flag && absl::IsInvalidArgument(status) ? kUsageExitCode : 1;
}

std::string UserPath(const std::string& path) {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory == nullptr || path.empty() || path[0] == '/') return path;
  return absl::StrCat(directory, "/", path);
}

}  // namespace ocannl
