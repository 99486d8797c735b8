// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/codegen/compile_c.h"

#include <stdio.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/scratch_directory.h"

namespace ocannl {
namespace {

// Error: the first line of what the command prints.
absl::Status RunCommand(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return absl::UnavailableError("no shell");
  std::string output;
  char buffer[4096];
  while (size_t size = fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, size);
  }
  if (pclose(pipe) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(command.substr(0, command.find(' ')),
                   " says: ", output.substr(0, output.find('\n'))));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SharedLibrary>> CompileC(
    absl::string_view text, const std::vector<std::string>& flags,
    absl::string_view language) {
  ScratchDirectory directory({"code.c", "code.so"});
  if (!directory.made()) return absl::UnavailableError("no directory in /tmp");
  OCANNL_RETURN_IF_ERROR(WriteFile(directory.Path("code.c"), text));
  OCANNL_RETURN_IF_ERROR(RunCommand(
      absl::StrCat("gcc -w -fPIC -shared -o ", directory.Path("code.so"),
                   " -x ", language, " ", directory.Path("code.c"), " -x none ",
                   absl::StrJoin(flags, " "), " 2>&1")));
  return SharedLibrary::Open(directory.Path("code.so"));
}

}  // namespace ocannl
