// SPDX-License-Identifier: Apache-2.0
#include "ocannl/flags/pass_options.h"

#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl {
namespace {

using Names = std::vector<std::string>;

Names LoopPasses() {
  Names names;
  for (const Pass& pass : Passes()) names.emplace_back(pass.name);
  return names;
}

absl::Status CheckName(absl::string_view flag, const std::string& name,
                       const Names& passes) {
  if (absl::c_linear_search(passes, name)) return absl::OkStatus();
  const absl::btree_set<std::string> known(passes.begin(), passes.end());
  return absl::InvalidArgumentError(absl::StrCat("--", flag, ": no pass `",
                                                 name, "`; the passes are ",
                                                 absl::StrJoin(known, ", ")));
}

// The names that a flag lists, which must be of `passes`.
absl::StatusOr<Names> NamesOf(const CommandLine& line, absl::string_view flag,
                              const Names& passes) {
  Names names = absl::StrSplit(line.GetString(flag), ',', absl::SkipEmpty());
  for (const std::string& name : names) {
    OCANNL_RETURN_IF_ERROR(CheckName(flag, name, passes));
  }
  return names;
}

struct Selection {
  PassOptions loops;
  Names skipped;  // passes of machine code
};

absl::StatusOr<Selection> SelectionOf(const CommandLine& line) {
  const Names code = jit::CodePasses();
  Names passes = LoopPasses();
  passes.emplace_back("none");
  OCANNL_ASSIGN_OR_RETURN(const Names only, NamesOf(line, "passes", passes));
  passes.pop_back();
  absl::c_copy(code, std::back_inserter(passes));
  OCANNL_ASSIGN_OR_RETURN(const Names skip, NamesOf(line, "skip", passes));
  const std::string& stop = line.GetString("stop_after");
  if (!stop.empty()) {
    OCANNL_RETURN_IF_ERROR(CheckName("stop_after", stop, passes));
  }
  OCANNL_ASSIGN_OR_RETURN(int64_t limit, line.GetInt("limit", -1, 1000));

  // Whoever stops at a pass over loops has none of machine code.
  bool stopped = !stop.empty() && !absl::c_linear_search(code, stop);
  Selection selection;
  PassOptions& loops = selection.loops;
  OCANNL_ASSIGN_OR_RETURN(loops.real, line.GetBool("real"));
  if (stopped) loops.stop_after = stop;
  loops.limit = static_cast<int>(limit);
  for (const Pass& pass : Passes()) {
    if (!loops.Allows(pass)) continue;
    if (absl::c_linear_search(skip, pass.name) ||
        (!only.empty() && !absl::c_linear_search(only, pass.name))) {
      loops.skip.emplace_back(pass.name);
    } else if (limit > 0) {
      --limit;
    }
  }
  for (const std::string& pass : code) {
    if (stopped || limit == 0 || absl::c_linear_search(skip, pass)) {
      selection.skipped.push_back(pass);
    } else if (limit > 0) {
      --limit;
    }
    stopped = stopped || pass == stop;
  }
  return selection;
}

}  // namespace

absl::StatusOr<PassOptions> PassOptionsOf(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(Selection selection, SelectionOf(line));
  return std::move(selection.loops);
}

absl::StatusOr<std::vector<std::string>> SkippedCodePasses(
    const CommandLine& line) {
  if (!line.Has("skip") && !line.Has("stop_after") && !line.Has("limit")) {
    return Names();
  }
  OCANNL_ASSIGN_OR_RETURN(Selection selection, SelectionOf(line));
  return std::move(selection.skipped);
}

}  // namespace ocannl
