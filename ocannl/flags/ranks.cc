// SPDX-License-Identifier: Apache-2.0
#include "ocannl/flags/ranks.h"

#include <cstdlib>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/train/distributed/mpi.h"

namespace ocannl {

absl::StatusOr<int64_t> BucketBytesOf(const CommandLine& line) {
  absl::string_view size = line.GetString("distributed");
  if (!absl::ConsumePrefix(&size, "mpi:")) return 0;
  int64_t kib = 0;
  if (absl::SimpleAtoi(size, &kib) && kib > 0 && kib <= (1 << 30)) {
    return kib * 1024;
  }
  return UserError(
      "--distributed=", line.GetString("distributed"), ": `", size,
      "` is no number of KiB from 1 to 2^30; leave it out to merge all ",
      "gradients at once");
}

absl::StatusOr<std::unique_ptr<train::Communicator>> CommunicatorOf(
    const CommandLine& line) {
  const std::string& kind = line.GetString("distributed");
  if (kind.empty()) return nullptr;
  OCANNL_ASSIGN_OR_RETURN(const int64_t bytes, BucketBytesOf(line));
  OCANNL_ASSIGN_OR_RETURN(const int64_t seconds,
                          line.GetInt("rank_timeout", 0, 1'000'000'000));
  if (kind == "mpi" || bytes > 0) {
    return train::StartMpi(
        {.most_seconds = seconds > 0
                             ? static_cast<double>(seconds)
                             : std::numeric_limits<double>::infinity()});
  }
  return UserError("--distributed=", kind, " is not mpi");
}

absl::StatusOr<int64_t> ShardsOf(const CommandLine& line,
                                 const train::Communicator* ranks) {
  const int64_t least = ranks == nullptr ? 1 : ranks->ranks();
  OCANNL_ASSIGN_OR_RETURN(const int64_t shards,
                          line.GetInt("shards", 0, 1'000'000));
  if (shards == 0) return least;
  if (shards >= least) return shards;
  return UserError("--shards=", shards, " is less than one for each of the ",
                   least, " processes");
}

std::string RankPath(const std::string& path) {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (path.empty() || rank == nullptr || absl::string_view(rank) == "0") {
    return path;
  }
  return absl::StrCat(path, ".rank", rank);
}

}  // namespace ocannl
