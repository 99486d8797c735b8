// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/scratch_directory.h"

#include <stdlib.h>
#include <unistd.h>

#include <utility>

namespace ocannl {

ScratchDirectory::ScratchDirectory(std::vector<std::string> files)
    : files_(std::move(files)) {
  const char* base = getenv("TEST_TMPDIR");
  path_ = absl::StrCat(base != nullptr ? base : "/tmp", "/ocannl_XXXXXX");
  made_ = mkdtemp(path_.data()) != nullptr;
}

ScratchDirectory::~ScratchDirectory() {
  if (!made_) return;
  for (const std::string& file : files_) unlink(Path(file).c_str());
  rmdir(path_.c_str());
}

}  // namespace ocannl
