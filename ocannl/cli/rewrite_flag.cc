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
  if (!script.empty()) {
    absl::StatusOr<std::string> file = ReadText(UserPath(script));
    // A rewrite has arguments, so that it has blanks.
    if (!file.ok() && script.find(' ') == std::string::npos) {
      return file.status();
    }
    if (file.ok()) script = *std::move(file);
  }
  absl::StatusOr<LoopProgram> rewritten =
      rewrite::RunScript(std::move(program), script);
  if (rewritten.ok()) return rewritten;
  return absl::InvalidArgumentError(
      absl::StrCat("--rewrite, ", rewritten.status().message()));
}

}  // namespace ocannl
