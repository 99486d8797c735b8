// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/file.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/open_file.h"

namespace ocannl {
namespace {

// What is written beside a file NAME stands in a directory .NAME.ocannl-XXXXXX,
// which its process keeps locked, under the same name.
constexpr absl::string_view kBeside = ".ocannl-";
constexpr absl::string_view kRandom = "XXXXXX";  // as mkdtemp wants it

std::string BesideName(const std::filesystem::path& path) {
  return absl::StrCat(".", path.filename().string(), kBeside);
}

absl::StatusOr<std::string> Read(const std::string& path, size_t most) {
  OCANNL_ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path, O_RDONLY));
  const struct stat& stat = file.stat();
  if (S_ISREG(stat.st_mode)) return file.Read(most);
  if (S_ISFIFO(stat.st_mode) && IsGivenOpen(path)) {
    return file.Read(kMostTextBytes);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot read ", path, ": it is ", KindOf(stat),
                   "; give the path of an ordinary file"));
}

// A new directory beside `path`, locked as long as the result lives: the end of
// the process unlocks it.
absl::StatusOr<OpenFile> MakeBeside(const std::string& path) {
  while (true) {
    std::string name =
        std::filesystem::path(path).replace_filename(BesideName(path));
    absl::StrAppend(&name, kRandom);
    if (mkdtemp(name.data()) == nullptr) return SystemError("write", path);
    absl::StatusOr<OpenFile> made =
        OpenFile::Open(name, O_RDONLY | O_DIRECTORY);
    if (made.ok()) {
      // Where there are no locks, nobody else gets one either.
      flock(made->fd(), LOCK_EX);
      struct stat now = {};
      // Until then it could be taken for what another process has left.
      if (lstat(name.c_str(), &now) == 0 && now.st_ino == made->stat().st_ino) {
        return made;
      }
    } else if (!absl::IsNotFound(made.status())) {
      return made;
    }
  }
}

// Deletes what MakeBeside made for `path`: the file that was written there, and
// temporary files of the library that writes it, whose names begin with that of
// the file. What else is in it is not ours: it stays, and so does the
// directory.
void RemoveBeside(const OpenFile& directory,
                  const std::filesystem::path& path) {
  const std::string name = path.filename();
  std::vector<std::string> ours;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory.path(), error), end;
       !error && at != end; at.increment(error)) {
    const std::string found = at->path().filename();
    if (absl::StartsWith(found, name)) ours.push_back(found);
  }
  for (const std::string& file : ours) {
    unlinkat(directory.fd(), file.c_str(), 0);  // no directory
  }
  rmdir(directory.path().c_str());
}

// Deletes what MakeBeside made in processes that are no more.
void RemoveLeftovers(const std::filesystem::path& path) {
  const std::string front = BesideName(path);
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end;
       !error && at != end; at.increment(error)) {
    const std::string other = at->path().filename();
    if (!absl::StartsWith(other, front) ||
        other.size() != front.size() + kRandom.size()) {
      continue;
    }
    absl::StatusOr<OpenFile> left = OpenFile::Open(
        at->path().string(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (left.ok() && left->stat().st_uid == geteuid() &&
        flock(left->fd(), LOCK_EX | LOCK_NB) == 0) {
      RemoveBeside(*left, path);
    }
  }
}

// Returns when the file or directory is on the disk.
absl::Status Sync(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const OpenFile file, OpenFile::Open(path, O_RDONLY));
  return fsync(file.fd()) == 0 ? absl::OkStatus() : SystemError("sync", path);
}

// A write beyond `ulimit -f` fails while this lives, in this thread: its signal
// would end the process and leave what is beside the file.
class FailsBeyondTheLimit {
 public:
  FailsBeyondTheLimit() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FailsBeyondTheLimit() {
    const timespec now = {};
    siginfo_t info = {};
    bool is_sent = false;  // by another process, and not for a write
    while (sigismember(&before_, SIGXFSZ) == 0 &&
           sigtimedwait(&signal_, &info, &now) > 0) {
      is_sent = is_sent || info.si_pid != getpid();
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    if (is_sent) std::raise(SIGXFSZ);
  }

 private:
  sigset_t signal_, before_;
};

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
  return Read(path, SIZE_MAX);
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  return Read(path, kMostTextBytes);
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  OCANNL_ASSIGN_OR_RETURN(OpenFile file, OpenFile::OpenOutput(path, O_TRUNC));
  OCANNL_RETURN_IF_ERROR(file.Write(contents));
  return file.Close();
}

absl::Status WriteFileIn(const std::string& directory, const std::string& name,
                         absl::string_view contents) {
  OCANNL_ASSIGN_OR_RETURN(const OpenFile in,
                          OpenFile::Open(directory, O_RDONLY | O_DIRECTORY));
  OCANNL_ASSIGN_OR_RETURN(OpenFile file, in.OpenOutputIn(name, O_TRUNC));
  OCANNL_RETURN_IF_ERROR(file.Write(contents));
  return file.Close();
}

absl::Status ReplaceFile(
    const std::string& path,
    absl::FunctionRef<absl::Status(const std::string& other)> write) {
  RemoveLeftovers(path);
  OCANNL_ASSIGN_OR_RETURN(const OpenFile beside, MakeBeside(path));
  const std::filesystem::path file = path;
  const std::string other =
      absl::StrCat(beside.path(), "/", file.filename().string());
  absl::Status written = [&] {
    const FailsBeyondTheLimit fails;
    return write(other);
  }();
  if (written.ok()) written = Sync(other);
  if (written.ok() && std::rename(other.c_str(), path.c_str()) != 0) {
    written = SystemError("write", path);
  }
  RemoveBeside(beside, path);
  OCANNL_RETURN_IF_ERROR(written);
  return Sync(file.has_parent_path() ? file.parent_path() : ".");
}

absl::Status CheckReplaceable(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("cannot write ", path,
                                                      ": it is ", KindOf(found),
                                                      "; give another path"));
  }
  OCANNL_ASSIGN_OR_RETURN(const OpenFile beside, MakeBeside(path));
  RemoveBeside(beside, path);
  return absl::OkStatus();
}

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot make directory ", path));
}

}  // namespace ocannl
