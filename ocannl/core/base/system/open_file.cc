// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/open_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"

namespace ocannl {

absl::Status SystemError(absl::string_view what, absl::string_view path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

absl::StatusOr<OpenFile> OpenFile::OpenAt(int directory,
                                          const std::string& name,
                                          std::string path, int flags) {
  const int fd = openat(directory, name.c_str(), flags | O_CLOEXEC | O_NONBLOCK,
                        S_IRUSR | S_IWUSR);
  if (fd < 0) return SystemError("open", path);
  OpenFile file(fd, std::move(path));
  if (fstat(fd, &file.stat_) != 0) return SystemError("open", file.path_);
  // Only what has been opened may wait.
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return file;
}

absl::StatusOr<OpenFile> OpenFile::Open(const std::string& path, int flags) {
  return OpenAt(AT_FDCWD, path, path, flags);
}

absl::StatusOr<OpenFile> OpenFile::OpenIn(const std::string& name,
                                          int flags) const {
  return OpenAt(fd_, name, absl::StrCat(path_, "/", name), flags);
}

OpenFile& OpenFile::operator=(OpenFile&& other) {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(stat_, other.stat_);
  return *this;
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::string> OpenFile::Read(size_t most) const {
  std::string bytes;
  char block[1 << 16];
  while (true) {
    const ssize_t size = read(fd_, block, sizeof(block));
    if (size == 0) return bytes;
    if (size > 0) {
      bytes.append(block, size);
    } else if (errno != EINTR) {
      return SystemError("read", path_);
    }
    if (bytes.size() <= most) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot read ", path_, ": it has more than ", most, " bytes"));
  }
}

absl::Status OpenFile::Write(absl::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t size = write(fd_, bytes.data(), bytes.size());
    if (size >= 0) {
      bytes.remove_prefix(size);
    } else if (errno != EINTR) {
      return SystemError("write", path_);
    }
  }
  return absl::OkStatus();
}

absl::string_view KindOf(const struct stat& stat) {
  if (S_ISREG(stat.st_mode)) return "an ordinary file";
  if (S_ISDIR(stat.st_mode)) return "a directory";
  if (S_ISFIFO(stat.st_mode)) return "a pipe";
  if (S_ISSOCK(stat.st_mode)) return "a socket";
  return "a device";
}

bool IsTrusted(const struct stat& found) {
  if (found.st_uid == geteuid() || found.st_uid == 0) return true;
  // In a namespace without root, its files have the number of nobody.
  struct stat root = {};
  return stat("/", &root) == 0 && found.st_uid == root.st_uid;
}

bool MayOthersWrite(const struct stat& stat) {
  return (stat.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

}  // namespace ocannl
