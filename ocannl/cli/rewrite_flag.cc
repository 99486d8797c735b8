// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cli/rewrite_flag.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/rewrite/script.h"

namespace ocannl {

const Flag& RewriteFlag() {
  static const auto* flag = new Flag{
      "rewrite", "",
      "a schedule by hand after the passes, such as 'split i2 16; parallel "
      "i1', or a file of it"};
  return *flag;
}

absl::StatusOr<LoopProgram> Rewritten(const CommandLine& line,
                                      LoopProgram program) {
  std::string script = line.GetString("rewrite");
  std::string what = "--rewrite";
  if (!script.empty()) {
    absl::StatusOr<std::string> file = ReadText(UserPath(script));
    // Nearly all rewrites have arguments, and so blanks.
    if (!file.ok() && script.find(' ') == std::string::npos) {
      if (script.find_first_of("./") != script.npos) return file.status();
      absl::StrAppend(&what, "=", script, " is no file, and as a rewrite");
    }
    if (file.ok()) script = *std::move(file);
  }
  absl::StatusOr<LoopProgram> rewritten =
      rewrite::RunScript(std::move(program), script);
  if (rewritten.ok()) return rewritten;
  return absl::InvalidArgumentError(
      absl::StrCat(what, ", ", rewritten.status().message()));
}

}  // namespace ocannl
