// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr char kSecret[] = "secret";
constexpr absl::string_view kCutSecret = "secret-";  // and a name as below
// A file's name has kNameBytes in hexadecimal digits and one of these ends; the
// second one while it is written.
constexpr absl::string_view kEnd = ".ocannl";
constexpr absl::string_view kNewEnd = ".ocannl-new";
constexpr size_t kSecretBytes = crypto_generichash_KEYBYTES;
// A file holds a tag and the value.
constexpr size_t kTagBytes = crypto_generichash_BYTES;
constexpr size_t kNameBytes = crypto_generichash_BYTES_MIN;
// What a small file takes on most disks.
constexpr int64_t kBlockBytes = 4096;

// BLAKE2b of the parts with a secret, which says where one ends; hashes of
// other sizes are others.
template <class... Parts>
std::string Hash(const std::string& secret, size_t size, Parts... parts) {
  auto bytes = [](const auto& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  };
  crypto_generichash_state state;
  crypto_generichash_init(&state, bytes(secret), secret.size(), size);
  auto update = [&](absl::string_view part) {
    const uint64_t length = part.size();
    std::string prefix(sizeof(length), '\0');
    std::memcpy(prefix.data(), &length, sizeof(length));
    crypto_generichash_update(&state, bytes(prefix), prefix.size());
    crypto_generichash_update(&state, bytes(part), part.size());
  };
  (update(parts), ...);
  std::string hash(size, '\0');
  crypto_generichash_final(&state,
                           reinterpret_cast<unsigned char*>(hash.data()), size);
  return hash;
}

// That no other process, thread or container has.
std::string NewName() {
  std::string bytes(kNameBytes, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  return absl::StrCat(absl::BytesToHexString(bytes), kNewEnd);
}

bool IsCacheName(absl::string_view name) {
  constexpr size_t kDigits = 2 * kNameBytes;
  return name.find_first_not_of("0123456789abcdef") == kDigits &&
         (name.substr(kDigits) == kEnd || name.substr(kDigits) == kNewEnd);
}

// Of what is in the directory now.
absl::StatusOr<std::vector<std::string>> NamesIn(const OpenFile& directory) {
  OCANNL_ASSIGN_OR_RETURN(const OpenFile again,
                          directory.OpenIn(".", O_RDONLY | O_DIRECTORY));
  // The list keeps what it is given.
  const int fd = fcntl(again.fd(), F_DUPFD_CLOEXEC, 0);
  std::unique_ptr<DIR, int (*)(DIR*)> list(fd < 0 ? nullptr : fdopendir(fd),
                                           &closedir);
  if (list == nullptr) {
    const absl::Status failed = SystemError("list", directory.path());
    if (fd >= 0) close(fd);
    return failed;
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(list.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

// Error: somebody uses the directory for something else.
absl::Status CheckForCache(const OpenFile& directory) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          NamesIn(directory));
  for (const std::string& name : names) {
    if (IsCacheName(absl::StripPrefix(name, kCutSecret)) || name == kSecret) {
      continue;
    }
    return absl::FailedPreconditionError(
        absl::StrCat(directory.path(), " has other files in it, such as ", name,
                     "; give a directory that is new or empty"));
  }
  return absl::OkStatus();
}

absl::Status CheckOwner(const struct stat& stat, const std::string& path) {
  if (stat.st_uid == geteuid()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "another user owns ", path, "; use a directory of your own"));
}

// Error: someone can put another directory where `path` is.
absl::Status CheckAbove(const std::filesystem::path& path) {
  for (std::filesystem::path above = path; above.has_relative_path();) {
    above = above.parent_path();
    struct stat found = {};
    if (stat(above.c_str(), &found) != 0) {
      return SystemError("open", above.string());
    }
    const bool sticky = (found.st_mode & S_ISVTX) != 0;
    if (IsTrusted(found) && (sticky || !MayOthersWrite(found))) continue;
    return absl::PermissionDeniedError(absl::StrCat(
        "others may replace ", path.string(), ", since ", above.string(),
        IsTrusted(found) ? " lets them write" : " belongs to another user",
        "; use a directory of your own"));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenFile> OpenDirectory(const std::string& path) {
  std::filesystem::path made;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    made /= part;
    if (mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return SystemError("make directory", made.string());
    }
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) {
    errno = error.value();
    return SystemError("make directory", path);
  }
  if (!std::filesystem::is_directory(real, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is no directory"));
  }
  absl::StatusOr<OpenFile> directory =
      OpenFile::Open(real.string(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory.ok()) return directory;
  OCANNL_RETURN_IF_ERROR(CheckOwner(directory->stat(), path));
  if (MayOthersWrite(directory->stat())) {
    return absl::PermissionDeniedError(absl::StrCat(
        "others may write to ", path, "; use a new directory of your own"));
  }
  OCANNL_RETURN_IF_ERROR(CheckAbove(real));
  return directory;
}

// Writes a new file and then calls `place` with it to give it its name.
template <class Place>
absl::Status WriteAndPlace(const OpenFile& directory, const std::string& name,
                           absl::string_view bytes, Place place) {
  OCANNL_ASSIGN_OR_RETURN(
      const OpenFile file,
      directory.OpenIn(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW));
  absl::Status written = file.Write(bytes);
  if (written.ok() && !place(file)) written = SystemError("write", file.path());
  if (!written.ok()) unlinkat(directory.fd(), name.c_str(), 0);
  return written;
}

// Other processes may do the same: the first secret that is there is ours. It
// has its name only when its bytes are on the disk.
absl::Status MakeSecret(const OpenFile& directory) {
  std::string secret(kSecretBytes, '\0');
  randombytes_buf(secret.data(), secret.size());
  const std::string name = NewName();
  return WriteAndPlace(directory, name, secret, [&](const OpenFile& file) {
    if (fsync(file.fd()) != 0) return false;
    const int fd = directory.fd();
    const bool is_there =
        linkat(fd, name.c_str(), fd, kSecret, 0) == 0 || errno == EEXIST;
    if (is_there) unlinkat(fd, name.c_str(), 0);
    return is_there;
  });
}

// DataLoss: it has another size, as after a loss of power.
absl::StatusOr<std::string> ReadSecret(const OpenFile& directory) {
  OCANNL_ASSIGN_OR_RETURN(const OpenFile file,
                          directory.OpenIn(kSecret, O_RDONLY | O_NOFOLLOW));
  const struct stat& stat = file.stat();
  OCANNL_RETURN_IF_ERROR(CheckOwner(stat, file.path()));
  if (!S_ISREG(stat.st_mode) || (stat.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        file.path(), " is no file that only you may read; delete it, or give ",
        "another directory"));
  }
  if (stat.st_size != static_cast<off_t>(kSecretBytes)) {
    return absl::DataLossError(absl::StrCat(file.path(), " has another size"));
  }
  return file.Read(kSecretBytes);
}

// The secret, which is made if there is none. One of another size may be the
// user's: it gets another name.
absl::StatusOr<std::string> ReadOrMakeSecret(const OpenFile& directory) {
  absl::StatusOr<std::string> secret = ReadSecret(directory);
  const bool is_cut = absl::IsDataLoss(secret.status());
  if (!is_cut && !absl::IsNotFound(secret.status())) return secret;
  OCANNL_RETURN_IF_ERROR(CheckForCache(directory));
  const std::string aside = absl::StrCat(kCutSecret, NewName());
  if (is_cut &&
      renameat(directory.fd(), kSecret, directory.fd(), aside.c_str()) != 0 &&
      errno != ENOENT) {  // Another process was first.
    return SystemError("rename", absl::StrCat(directory.path(), "/", kSecret));
  }
  OCANNL_RETURN_IF_ERROR(MakeSecret(directory));
  return ReadSecret(directory);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiskCache>> DiskCache::Open(
    const std::string& directory, int64_t most_bytes) {
  CHECK(sodium_init() >= 0);
  OCANNL_ASSIGN_OR_RETURN(OpenFile open, OpenDirectory(directory));
  OCANNL_ASSIGN_OR_RETURN(std::string secret, ReadOrMakeSecret(open));
  return std::unique_ptr<DiskCache>(
      new DiskCache(std::move(open), std::move(secret), most_bytes));
}

std::string DiskCache::NameOf(absl::string_view key) const {
  return absl::StrCat(absl::BytesToHexString(Hash(secret_, kNameBytes, key)),
                      kEnd);
}

std::string DiskCache::TagOf(absl::string_view key,
                             absl::string_view value) const {
  return Hash(secret_, kTagBytes, key, value);
}

std::optional<std::string> DiskCache::Find(absl::string_view key) const {
  absl::StatusOr<OpenFile> file =
      directory_.OpenIn(NameOf(key), O_RDONLY | O_NOFOLLOW);
  if (!file.ok()) return std::nullopt;
  const struct stat& stat = file->stat();
  if (!S_ISREG(stat.st_mode) || stat.st_uid != geteuid() ||
      MayOthersWrite(stat) || stat.st_size > most_bytes_) {
    return std::nullopt;
  }
  absl::StatusOr<std::string> bytes = file->Read(stat.st_size);
  if (!bytes.ok() || bytes->size() < kTagBytes) return std::nullopt;
  const std::string tag = bytes->substr(0, kTagBytes);
  bytes->erase(0, kTagBytes);
  const std::string right = TagOf(key, *bytes);
  if (sodium_memcmp(tag.data(), right.data(), kTagBytes) != 0) {
    return std::nullopt;
  }
  futimens(file->fd(), nullptr);  // It was used now.
  return *std::move(bytes);
}

absl::Status DiskCache::Insert(absl::string_view key, absl::string_view value) {
  const std::string name = NameOf(key);
  const int64_t size = kTagBytes + value.size();
  if (size > most_bytes_ / 4) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot write ", directory_.path(), "/", name, ": ", size,
                     " bytes are over a quarter of the room"));
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    bytes_until_count_ -= std::max(size, kBlockBytes);
    if (bytes_until_count_ < 0) {
      MakeRoom();
      // Other processes write too; so room is made before it is needed.
      bytes_until_count_ = most_bytes_ / 16;
    }
  }
  const std::string other = NewName();
  return WriteAndPlace(directory_, other,
                       absl::StrCat(TagOf(key, value), value),
                       [&](const OpenFile&) {
                         return renameat(directory_.fd(), other.c_str(),
                                         directory_.fd(), name.c_str()) == 0;
                       });
}

// Deletes the oldest files, if there are too many, until a quarter is free:
// also what processes that were killed have not finished.
void DiskCache::MakeRoom() const {
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(directory_);
  if (!names.ok()) return;
  using File = std::tuple<int64_t, int64_t, std::string, int64_t>;
  std::vector<File> files;
  int64_t sum = 0;
  for (const std::string& name : *names) {
    struct stat stat = {};
    if (!IsCacheName(name) ||
        fstatat(directory_.fd(), name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) !=
            0 ||
        !S_ISREG(stat.st_mode) || stat.st_uid != geteuid()) {
      continue;
    }
    const int64_t size = std::max<int64_t>(stat.st_size, kBlockBytes);
    files.emplace_back(stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec, name, size);
    sum += size;
  }
  if (sum <= most_bytes_ - most_bytes_ / 16) return;
  std::sort(files.begin(), files.end());
  for (const auto& [seconds, nanoseconds, name, size] : files) {
    if (sum <= most_bytes_ - most_bytes_ / 4) return;
    if (unlinkat(directory_.fd(), name.c_str(), 0) == 0) sum -= size;
  }
}

}  // namespace ocannl
