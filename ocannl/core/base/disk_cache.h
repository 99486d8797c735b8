// SPDX-License-Identifier: Apache-2.0
//
// DiskCache: values by key, in files that outlive the process. Processes may
// share the directory; each value is there whole or not at all.
//
//   auto cache = DiskCache::Open("/home/me/.cache/ocannl");
//   std::optional<std::string> value = cache->Find(key);
//
// Nothing is ever dropped: to make room, delete the directory.
#ifndef OCANNL_CORE_BASE_DISK_CACHE_H_
#define OCANNL_CORE_BASE_DISK_CACHE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

// Thread-safe.
class DiskCache {
 public:
  // Makes the directory, for its owner alone, unless it is there. Errors: it
  // cannot be made, or someone else owns it or may write to it: what he puts
  // there would pass for ours.
  static absl::StatusOr<DiskCache> Open(const std::string& directory);

  // The value of `key`; none where the file is missing or damaged.
  std::optional<std::string> Find(absl::string_view key) const;

  // Gives `key` the value. Errors name the path and the system's reason.
  absl::Status Insert(absl::string_view key, absl::string_view value) const;

 private:
  explicit DiskCache(std::string directory)
      : directory_(std::move(directory)) {}

  std::string PathOf(absl::string_view key) const;

  std::string directory_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_DISK_CACHE_H_
