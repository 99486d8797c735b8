// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/open_file.h"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

// /dev/null, and /dev/full, which tests write to.
bool IsNowhere(const struct stat& stat) {
  return S_ISCHR(stat.st_mode) &&
         (stat.st_rdev == makedev(1, 3) || stat.st_rdev == makedev(1, 7));
}

bool MayBeOutput(absl::string_view path, const struct stat& stat) {
  const bool is_given =
      path == "/dev/stdout" || path == "/dev/stderr" || IsGivenOpen(path);
  return S_ISREG(stat.st_mode) || IsNowhere(stat) ||
         (is_given && !S_ISDIR(stat.st_mode));
}

absl::Status LinkError(absl::string_view path) {
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot write ", path, ": it is a symbolic link, which may lead to any ",
      "file; remove it, or write to another directory"));
}

}  // namespace

absl::Status SystemError(absl::string_view what, absl::string_view path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

absl::StatusOr<OpenFile> OpenFile::OpenAt(int directory,
                                          const std::string& name,
                                          std::string path, int flags,
                                          mode_t mode) {
  const int fd =
      openat(directory, name.c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode);
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

absl::StatusOr<OpenFile> OpenFile::OutputAt(int directory,
                                            const std::string& name,
                                            std::string path, int flags) {
  // A device may do something when it is opened, and a pipe fails without a
  // reader, so that they are looked at before.
  struct stat found = {};
  const int follow = (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
  if (fstatat(directory, name.c_str(), &found, follow) == 0) {
    if (S_ISLNK(found.st_mode)) return LinkError(path);
    if (!MayBeOutput(path, found)) return NoOutputError(path, found);
  }
  constexpr mode_t kMode =
      S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  absl::StatusOr<OpenFile> file = OpenAt(directory, name, std::move(path),
                                         flags | O_WRONLY | O_CREAT, kMode);
  if (file.ok() && !MayBeOutput(file->path(), file->stat())) {
    return NoOutputError(file->path(), file->stat());
  }
  return file;
}

absl::StatusOr<OpenFile> OpenFile::OpenOutput(const std::string& path,
                                              int flags) {
  return OutputAt(AT_FDCWD, path, path, flags);
}

absl::StatusOr<OpenFile> OpenFile::OpenOutputIn(const std::string& name,
                                                int flags) const {
  if (absl::StrContains(name, '/')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot write ", name, " in ", path_, ": the name has a slash"));
  }
  return OutputAt(fd_, name, absl::StrCat(path_, "/", name),
                  flags | O_NOFOLLOW);
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

absl::Status OpenFile::Close() {
  if (close(std::exchange(fd_, -1)) == 0) return absl::OkStatus();
  return SystemError("write", path_);
}

bool IsGivenOpen(absl::string_view path) {
  return path == "/dev/stdin" || absl::StartsWith(path, "/dev/fd/") ||
         absl::StartsWith(path, "/proc/self/fd/");
}

absl::Status CheckNoLink(const std::string& path) {
  struct stat found = {};
  return lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode)
             ? LinkError(path)
             : absl::OkStatus();
}

absl::Status NoOutputError(absl::string_view path, const struct stat& stat) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", path, ": it is ", KindOf(stat),
                   ", and must be an ordinary file"));
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
