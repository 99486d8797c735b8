// SPDX-License-Identifier: Apache-2.0
//
// ScratchDirectory: a directory for the user alone, in $TEST_TMPDIR or /tmp,
// gone with its files at the end.
#ifndef OCANNL_CORE_BASE_SYSTEM_SCRATCH_DIRECTORY_H_
#define OCANNL_CORE_BASE_SYSTEM_SCRATCH_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ocannl {

class ScratchDirectory {
 public:
  // `files` are the names of those that may be in it.
  explicit ScratchDirectory(std::vector<std::string> files);
  ScratchDirectory(const ScratchDirectory&) = delete;
  ~ScratchDirectory();

  bool made() const { return made_; }
  const std::string& path() const { return path_; }
  std::string Path(absl::string_view file) const {
    return absl::StrCat(path_, "/", file);
  }

 private:
  std::vector<std::string> files_;
  std::string path_;
  bool made_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_SCRATCH_DIRECTORY_H_
