// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace ocannl {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  std::string contents;
  char block[1 << 16];
  while (const size_t size = std::fread(block, 1, sizeof(block), file)) {
    contents.append(block, size);
  }
  const int error = std::ferror(file) ? errno : 0;
  std::fclose(file);
  if (error == 0) return contents;
  return absl::ErrnoToStatus(error, absl::StrCat("cannot read ", path));
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  const size_t written = std::fwrite(contents.data(), 1, contents.size(), file);
  int error = written == contents.size() ? 0 : errno;
  // A full disk may be noticed only when the last bytes leave the buffer.
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path));
}

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot make directory ", path));
}

}  // namespace ocannl
