// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/codegen/code_cache.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/system/build_id.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

// Of a directory of code: some ten thousand programs.
constexpr int64_t kMostBytes = int64_t{1} << 30;

}  // namespace

absl::StatusOr<std::unique_ptr<CodeCache>> CodeCache::Open(
    const std::string& directory) {
  std::string build = BuildId();
  if (build.empty()) {
    return absl::FailedPreconditionError(
        "a cache of code tells builds by their ids, and this binary has none; "
        "link it with -Wl,--build-id");
  }
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<DiskCache> files,
                          DiskCache::Open(directory, kMostBytes));
  return absl::WrapUnique(
      new CodeCache(std::move(files), directory, std::move(build)));
}

std::optional<std::string> CodeCache::Find(absl::string_view key) {
  std::optional<std::string> code =
      files_->Find(absl::StrCat(build_, "\n", key));
  std::lock_guard<std::mutex> lock(mutex_);
  found_ += code.has_value();
  return code;
}

void CodeCache::Insert(absl::string_view key, absl::string_view code) {
  const absl::Status written =
      files_->Insert(absl::StrCat(build_, "\n", key), code);
  std::lock_guard<std::mutex> lock(mutex_);
  kept_ += written.ok();
  error_.Update(written);
}

std::string CodeCache::Report() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return absl::StrCat(
      "code in ", directory_, ": ", found_, " programs found, ", kept_, " kept",
      error_.ok() ? "" : absl::StrCat("; ", error_.message()), "\n");
}

}  // namespace ocannl
