// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

absl::Status SystemError(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

// Makes an empty file, with a name that nobody else has, beside `path`.
absl::StatusOr<std::string> MakeBeside(const std::string& path) {
  for (int64_t k = 0;; ++k) {
    std::string other = absl::StrCat(path, ".", getpid(), ".", k);
    std::FILE* const file = std::fopen(other.c_str(), "wbx");
    if (file != nullptr) {
      std::fclose(file);
      return other;
    }
    if (errno != EEXIST) return SystemError("write", path);
  }
}

// Returns when the file or directory is on the disk.
absl::Status Sync(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError("open", path);
  const bool synced = fsync(file) == 0;
  absl::Status status = synced ? absl::OkStatus() : SystemError("sync", path);
  close(file);
  return status;
}

}  // namespace

absl::Status CheckOrdinaryFile(const std::string& path,
                               absl::string_view what) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "`", path, "`: ", error ? error.message() : "not an ordinary file",
      "; give the path of ", what));
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return SystemError("open", path);
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
  if (file == nullptr) return SystemError("open", path);
  const size_t written = std::fwrite(contents.data(), 1, contents.size(), file);
  int error = written == contents.size() ? 0 : errno;
  // A full disk may be noticed only when the last bytes leave the buffer.
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path));
}

absl::Status ReplaceFile(
    const std::string& path, Survives survives,
    absl::FunctionRef<absl::Status(const std::string& other)> write) {
  const bool sync = survives == Survives::kPowerLoss;
  OCANNL_ASSIGN_OR_RETURN(const std::string other, MakeBeside(path));
  absl::Status written = write(other);
  if (written.ok() && sync) written = Sync(other);
  if (written.ok() && std::rename(other.c_str(), path.c_str()) != 0) {
    written = SystemError("write", path);
  }
  if (!written.ok()) {
    unlink(other.c_str());
    return written;
  }
  if (!sync) return absl::OkStatus();
  const auto directory = std::filesystem::path(path).parent_path();
  return Sync(directory.empty() ? "." : directory.string());
}

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot make directory ", path));
}

}  // namespace ocannl
