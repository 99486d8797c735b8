// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/fit/course.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostNames = 3;  // of arrays in an error

std::string Describe(const Course& given, const FitSetting& setting) {
  return setting.value.empty()
             ? absl::StrCat("no ", given.prefix, setting.name)
             : absl::StrCat(given.prefix, setting.name, "=", setting.value);
}

// 0.05 is 5e-2.
bool IsSame(const FitSetting& a, const FitSetting& b) {
  if (!a.hash.empty() && !b.hash.empty()) return a.hash == b.hash;
  double x = 0, y = 0;
  return a.value == b.value || (absl::SimpleAtod(a.value, &x) &&
                                absl::SimpleAtod(b.value, &y) && x == y);
}

std::string StringOf(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string()
             ? json[key].get<std::string>()
             : "";
}

// "`b1`, `w1` and 4 more"
std::string SomeOf(const std::vector<std::string>& names) {
  const size_t some = std::min(names.size(), kMostNames);
  std::string text = absl::StrCat(
      "`", absl::StrJoin(names.begin(), names.begin() + some, "`, `"), "`");
  if (some < names.size()) {
    absl::StrAppend(&text, " and ", names.size() - some, " more");
  }
  return text;
}

}  // namespace

std::string ToText(const Course& course) {
  Json json = {{"experiment", course.name}, {"flags", Json::array()}};
  for (const FitSetting& flag : course.settings) {
    Json entry = {{"name", flag.name}, {"value", flag.value}};
    if (!flag.hash.empty()) entry["hash"] = flag.hash;
    json["flags"].push_back(std::move(entry));
  }
  // Paths need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Course> ParseCourse(absl::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("flags") ||
      !json["flags"].is_array()) {
    return UserError(
        "the flags that it was saved with are no JSON; save it again");
  }
  Course course{
      .name = StringOf(json, "experiment"), .settings = {}, .prefix = ""};
  for (const Json& entry : json["flags"]) {
    if (!entry.is_object()) continue;
    course.settings.push_back({.name = StringOf(entry, "name"),
                               .value = StringOf(entry, "value"),
                               .hash = StringOf(entry, "hash")});
  }
  return course;
}

absl::StatusOr<std::string> CompareCourses(absl::string_view path,
                                           const Course& saved,
                                           const Course& given) {
  if (saved.name != given.name) {
    return FileError(
        path, absl::StrCat("it is of `", saved.name, "`, not of `", given.name,
                           "`; go on with that program"));
  }
  std::vector<std::string> were, are, told;
  for (const FitSetting& flag : given.settings) {
    const auto before = absl::c_find_if(
        saved.settings,
        [&](const FitSetting& other) { return other.name == flag.name; });
    if (before == saved.settings.end() || IsSame(*before, flag)) continue;
    if (flag.may_differ) {
      told.push_back(Describe(given, *before));
    } else if (before->value == flag.value) {
      return FileError(
          path,
          absl::StrCat("it was saved with other contents of ",
                       flag.value.empty() ? "the default of " : "",
                       given.prefix, flag.name, flag.value.empty() ? "" : "=",
                       flag.value, "; go on with those"));
    } else {
      were.push_back(Describe(given, *before));
      are.push_back(Describe(given, flag));
    }
  }
  if (were.empty()) return absl::StrJoin(told, " ");
  return FileError(path,
                   absl::StrCat("it was saved with ", absl::StrJoin(were, " "),
                                ", and this run has ", absl::StrJoin(are, " "),
                                "; go on with what it was saved with"));
}

absl::Status CheckNetwork(absl::string_view path,
                          absl::Span<const ArrayEntry> found,
                          absl::Span<const Array> state,
                          absl::Span<const absl::string_view> own,
                          const Course& given) {
  std::map<std::string, const ArrayEntry*> left;
  for (const ArrayEntry& entry : found) {
    if (!absl::c_linear_search(own, entry.name)) left[entry.name] = &entry;
  }
  std::vector<std::string> lacks, has, differ;
  for (const Array& array : state) {
    const auto entry = left.find(array.name);
    if (entry == left.end()) {
      lacks.push_back(array.name);
      continue;
    }
    const auto& [name, dtype, dims] = *entry->second;
    left.erase(entry);
    if (dtype == array.dtype && dims == array.dims) continue;
    differ.push_back(absl::StrCat(
        "`", name, "` is ", dtype ? DescribeArray(*dtype, dims) : "unknown",
        " in it and ", DescribeArray(array.dtype, array.dims), " here"));
  }
  for (const auto& [name, entry] : left) has.push_back(absl::CHexEscape(name));
  std::vector<std::string> faults;
  if (!has.empty()) faults.push_back("it alone has " + SomeOf(has));
  if (!lacks.empty()) faults.push_back("it has no " + SomeOf(lacks));
  if (!differ.empty()) faults.push_back(differ[0]);
  if (faults.empty()) return absl::OkStatus();
  const auto flag = [&](std::string* out, const FitSetting& each) {
    absl::StrAppend(out, given.prefix, each.name);
  };
  return FileError(
      path,
      absl::StrCat("it is of another network than this one of `", given.name,
                   "`: ", absl::StrJoin(faults, ", "),
                   "; go on with the program and the flags that saved it, of ",
                   absl::StrJoin(given.settings, " ", flag)));
}

}  // namespace ocannl::train
