// SPDX-License-Identifier: Apache-2.0
//
// OpenFile: a file or directory that is open. What is found out about it holds
// for what is read from it, whatever happens to its name meanwhile.
//
//   OCANNL_ASSIGN_OR_RETURN(OpenFile file, OpenFile::Open(path, O_RDONLY));
//   if (MayOthersWrite(file.stat())) ...
//   OCANNL_ASSIGN_OR_RETURN(std::string text, file.Read(kMostBytes));
#ifndef OCANNL_CORE_BASE_SYSTEM_OPEN_FILE_H_
#define OCANNL_CORE_BASE_SYSTEM_OPEN_FILE_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

class OpenFile {
 public:
  // As open(2) and openat(2), the latter in the directory that this is; new
  // files are for the user alone. Never waits: not for the other end of a pipe
  // either. Errors name the path and the system's reason.
  static absl::StatusOr<OpenFile> Open(const std::string& path, int flags);
  absl::StatusOr<OpenFile> OpenIn(const std::string& name, int flags) const;

  // Opens a file for writing, and makes it if it does not exist, readable as
  // the umask allows; `flags` has O_TRUNC or O_APPEND. OpenOutputIn opens it in
  // this directory and does not follow links. Errors: those of Open; a link; a
  // directory, pipe, socket or device other than /dev/null, unless the path
  // names an open file, such as /dev/stdout; a slash in `name`.
  static absl::StatusOr<OpenFile> OpenOutput(const std::string& path,
                                             int flags);
  absl::StatusOr<OpenFile> OpenOutputIn(const std::string& name,
                                        int flags) const;

  OpenFile(OpenFile&& other)
      : fd_(std::exchange(other.fd_, -1)),
        path_(std::move(other.path_)),
        stat_(other.stat_) {}
  OpenFile& operator=(OpenFile&& other);
  ~OpenFile();

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  const struct stat& stat() const { return stat_; }  // when it was opened

  // The bytes to the end. Errors: there are more than `most`; the system's.
  absl::StatusOr<std::string> Read(size_t most) const;
  // Error: the system's.
  absl::Status Write(absl::string_view bytes) const;
  // To be called last. Error: what was written before has not arrived.
  absl::Status Close();

 private:
  static absl::StatusOr<OpenFile> OpenAt(int directory, const std::string& name,
                                         std::string path, int flags,
                                         mode_t mode = S_IRUSR | S_IWUSR);
  static absl::StatusOr<OpenFile> OutputAt(int directory,
                                           const std::string& name,
                                           std::string path, int flags);
  OpenFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  std::string path_;
  struct stat stat_ = {};
};

// "cannot WHAT PATH: " and what errno says.
absl::Status SystemError(absl::string_view what, absl::string_view path);

// "a directory", "a pipe", ...
absl::string_view KindOf(const struct stat& stat);

// Whether `path` is that of a file that this process was given open, to read.
bool IsGivenOpen(absl::string_view path);

// Error: the path is a symbolic link. For names that the user has not given,
// in a directory that may be somebody else's work.
absl::Status CheckNoLink(const std::string& path);

// "cannot write PATH: it is a pipe, and must be an ordinary file".
absl::Status NoOutputError(absl::string_view path, const struct stat& stat);

// Whether it belongs to the user, or to root or the owner of /, whom nothing
// keeps out; whether the mode lets anybody else write.
bool IsTrusted(const struct stat& found);
bool MayOthersWrite(const struct stat& stat);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_OPEN_FILE_H_
