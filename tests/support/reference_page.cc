// SPDX-License-Identifier: Apache-2.0
#include "tests/support/reference_page.h"

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl {

int ReferencePageMain(int argc, char** argv, const std::string& path,
                      const std::string& target, const std::string& text) {
  if (argc == 2 && absl::string_view(argv[1]) == "--update") {
    const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
    CHECK(workspace != nullptr) << "run this with bazel run";
    CHECK_OK(WriteFile(absl::StrCat(workspace, "/", path), text));
    return 0;
  }
  absl::StatusOr<std::string> page = ReadFile(path);
  CHECK_OK(page);
  if (*page == text) return 0;
  std::cerr << path << " is stale; write it with\n  bazel run " << target
            << " -- --update\n";
  return 1;
}

}  // namespace ocannl
