// SPDX-License-Identifier: Apache-2.0
//
// DiskCache: values by key, in files that outlive the process. Processes may
// share the directory; each value is there whole or not at all.
//
//   auto cache = DiskCache::Open("/home/me/.cache/ocannl", 1 << 30);
//   std::optional<std::string> value = (*cache)->Find(key);
//
// A value is found only if this user stored it under that key. The file has a
// keyed hash of both; the key of the hash is the file `secret` of the
// directory. The least recently used files are evicted. Those that have no name
// of the cache's (32 digits and .ocannl) are left alone.
#ifndef OCANNL_CORE_BASE_SYSTEM_DISK_CACHE_H_
#define OCANNL_CORE_BASE_SYSTEM_DISK_CACHE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/system/open_file.h"

namespace ocannl {

// Thread-safe.
class DiskCache {
 public:
  // Makes the directory and its parents, for their owner alone, unless they
  // exist; its files take about `most_bytes`. Errors: the directory cannot be
  // made; it has other files and no secret that marks it as a cache. It is an
  // error too if another user owns or may write the directory, a parent or the
  // secret, since his values would pass for ours. A parent with a sticky bit
  // may be writable.
  static absl::StatusOr<std::unique_ptr<DiskCache>> Open(
      const std::string& directory, int64_t most_bytes);

  // The value of `key`; none where the file is missing, damaged, no ordinary
  // file, or not only ours.
  std::optional<std::string> Find(absl::string_view key) const;

  // Gives `key` the value. Errors: it would take more than a quarter of the
  // room; the system's, which name the path.
  absl::Status Insert(absl::string_view key, absl::string_view value);

 private:
  DiskCache(OpenFile directory, std::string secret, int64_t most_bytes)
      : directory_(std::move(directory)),
        secret_(std::move(secret)),
        most_bytes_(most_bytes) {}

  std::string NameOf(absl::string_view key) const;
  std::string TagOf(absl::string_view key, absl::string_view value) const;
  void MakeRoom() const;

  const OpenFile directory_;
  const std::string secret_;
  const int64_t most_bytes_;
  std::mutex mutex_;               // guards the rest
  int64_t bytes_until_count_ = 0;  // that may be written before files count
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_DISK_CACHE_H_
