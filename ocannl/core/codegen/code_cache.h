// SPDX-License-Identifier: Apache-2.0
//
// CodeCache: compiled programs that outlive the process, in a DiskCache: bytes
// that a tier made of a program. They are found by a key of the tier's, which
// says what was compiled and how, and by the build of the engine: no build runs
// another one's code.
#ifndef OCANNL_CORE_CODEGEN_CODE_CACHE_H_
#define OCANNL_CORE_CODEGEN_CODE_CACHE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/system/disk_cache.h"

namespace ocannl {

// Thread-safe.
class CodeCache {
 public:
  // Errors: as of DiskCache::Open; the binary has no build id.
  static absl::StatusOr<std::unique_ptr<CodeCache>> Open(
      const std::string& directory);

  // `key` names the tier, and need not name the build.
  std::optional<std::string> Find(absl::string_view key);
  // Where the disk is full, say, the program is not kept; Report tells.
  void Insert(absl::string_view key, absl::string_view code);

  // What was found and kept so far: one line.
  std::string Report() const;

 private:
  CodeCache(std::unique_ptr<DiskCache> files, std::string directory,
            std::string build)
      : files_(std::move(files)),
        directory_(std::move(directory)),
        build_(std::move(build)) {}

  const std::unique_ptr<DiskCache> files_;
  const std::string directory_;
  const std::string build_;
  mutable std::mutex mutex_;  // guards the rest
  int64_t found_ = 0;
  int64_t kept_ = 0;
  absl::Status error_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_CODEGEN_CODE_CACHE_H_
