// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/disk_cache.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

// A file holds, in this order: a hash of the rest, the size of the key, the
// key, the value.
constexpr size_t kNumberBytes = sizeof(uint64_t);

std::string Bytes(uint64_t number) {
  std::string bytes(kNumberBytes, '\0');
  std::memcpy(bytes.data(), &number, kNumberBytes);
  return bytes;
}

uint64_t Hash(absl::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

absl::StatusOr<DiskCache> DiskCache::Open(const std::string& directory) {
  const std::string above =
      std::filesystem::path(directory).parent_path().string();
  if (!above.empty()) OCANNL_RETURN_IF_ERROR(MakeDirectory(above));
  struct stat found = {};
  if ((mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) ||
      stat(directory.c_str(), &found) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make directory ", directory));
  }
  if (!S_ISDIR(found.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, " is no directory"));
  }
  if (found.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "another user owns ", directory, "; use a directory of your own"));
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("others may write to ", directory,
                     "; delete it, or use a directory of your own"));
  }
  return DiskCache(directory);
}

std::string DiskCache::PathOf(absl::string_view key) const {
  return absl::StrCat(directory_, "/", absl::Hex(Hash(key), absl::kZeroPad16));
}

std::optional<std::string> DiskCache::Find(absl::string_view key) const {
  absl::StatusOr<std::string> file = ReadFile(PathOf(key));
  if (!file.ok()) return std::nullopt;
  absl::string_view rest = *file;
  if (rest.size() < kNumberBytes) return std::nullopt;
  const absl::string_view hash = rest.substr(0, kNumberBytes);
  rest.remove_prefix(kNumberBytes);
  if (hash != Bytes(Hash(rest)) ||
      !absl::ConsumePrefix(&rest, Bytes(key.size())) ||
      !absl::ConsumePrefix(&rest, key)) {
    return std::nullopt;
  }
  return std::string(rest);
}

absl::Status DiskCache::Insert(absl::string_view key,
                               absl::string_view value) const {
  const std::string rest = absl::StrCat(Bytes(key.size()), key, value);
  return ReplaceFile(PathOf(key), Survives::kKill, [&](const auto& other) {
    return WriteFile(other, Bytes(Hash(rest)) + rest);
  });
}

}  // namespace ocannl
