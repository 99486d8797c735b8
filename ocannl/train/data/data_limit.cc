// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/data/data_limit.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace ocannl::train {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kLeastMiB = 64;
constexpr int64_t kMostMiB = 4096;
constexpr int64_t kTimes = 64;

}  // namespace

int64_t DataLimit::BytesFor(int64_t file_bytes) const {
  if (mib > 0) return std::min(mib, INT64_MAX / kMiB) * kMiB;
  const int64_t most = kMostMiB * kMiB;
  const int64_t many = std::min(file_bytes, most) * kTimes;
  return std::max(file_bytes, std::clamp(many, kLeastMiB * kMiB, most));
}

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

absl::Status ExceedsLimit(absl::string_view path, int64_t file_bytes,
                          const DataLimit& limit) {
  return absl::ResourceExhaustedError(absl::StrCat(
      path, ": its ", file_bytes, " bytes decompress to more than ",
      limit.BytesFor(file_bytes) / kMiB,
      " MiB, the limit; if you trust the file, decompress it, or raise the "
      "limit by --data_limit=MIB, where there is this flag, or in C++ by "
      "DataLimit::mib"));
}

}  // namespace ocannl::train
