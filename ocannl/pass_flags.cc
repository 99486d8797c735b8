// SPDX-License-Identifier: Apache-2.0
#include "ocannl/pass_flags.h"

#include <algorithm>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {

const std::vector<Flag>& PassFlags() {
  static const auto* flags = new std::vector<Flag>{
      {"passes", "", "only these passes, with commas between; `none` for none"},
      {"skip", "", "leave these passes out"},
      {"stop_after", "", "the last pass to run"},
      {"limit", "-1", "passes that may run, to VCode's: to bisect"},
      {"real", "false",
       "also passes that keep the real numbers but not the bits"}};
  return *flags;
}

absl::StatusOr<PassOptions> PassOptionsOf(const CommandLine& line) {
  PassOptions options;
  std::vector<std::string> only =
      absl::StrSplit(line.GetString("passes"), ',', absl::SkipEmpty());
  options.skip = absl::StrSplit(line.GetString("skip"), ',', absl::SkipEmpty());
  if (!only.empty()) {
    for (const Pass& pass : Passes()) {
      if (!absl::c_linear_search(only, pass.name)) {
        options.skip.emplace_back(pass.name);
      }
    }
    for (const std::string& name : only) {
      bool known = absl::c_any_of(
          Passes(), [&](const Pass& pass) { return pass.name == name; });
      // Optimize tells of names that are not passes.
      if (!known && name != "none") options.skip.push_back(name);
    }
  }
  options.stop_after = line.GetString("stop_after");
  OCANNL_ASSIGN_OR_RETURN(int64_t limit, line.GetInt("limit", -1, 1000));
  options.limit = static_cast<int>(limit);
  OCANNL_ASSIGN_OR_RETURN(options.real, line.GetBool("real"));
  return options;
}

int CodePassesOf(const PassOptions& options) {
  if (options.limit < 0) return -1;
  const auto before = absl::c_count_if(
      Passes(), [&](const Pass& pass) { return options.Allows(pass); });
  return std::max(0, options.limit - static_cast<int>(before));
}

}  // namespace ocannl
