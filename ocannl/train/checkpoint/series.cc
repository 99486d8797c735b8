// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/series.h"

#include <filesystem>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/checkpoint/checkpoint.h"

namespace ocannl::train {

absl::StatusOr<CheckpointSeries> CheckpointSeries::Open(std::string directory,
                                                        int keep) {
  if (keep < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(keep, " checkpoints are to be kept; keep 1 at least"));
  }
  OCANNL_RETURN_IF_ERROR(MakeDirectory(directory));
  CheckpointSeries series(std::move(directory), keep);
  OCANNL_RETURN_IF_ERROR(CheckSavable(series.PathOf(0)));
  return series;
}

std::string CheckpointSeries::PathOf(int64_t steps) const {
  return absl::StrFormat("%s/step_%012d.npz", directory_, steps);
}

absl::StatusOr<std::vector<int64_t>> CheckpointSeries::Steps() const {
  std::vector<int64_t> all;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory_, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename();
    absl::string_view name = file;
    int64_t steps = 0;
    if (absl::ConsumePrefix(&name, "step_") &&
        absl::ConsumeSuffix(&name, ".npz") && absl::SimpleAtoi(name, &steps) &&
        absl::EndsWith(PathOf(steps), file)) {
      all.push_back(steps);
    }
  }
  absl::c_sort(all);
  if (!error) return all;
  return absl::InternalError(
      absl::StrCat("cannot list ", directory_, ": ", error.message()));
}

absl::Status CheckpointSeries::Save(int64_t steps,
                                    absl::Span<const Array> arrays,
                                    const Context& context) const {
  OCANNL_ASSIGN_OR_RETURN(std::vector<int64_t> all, Steps());
  if (!all.empty() && all.back() >= steps) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory_, " has a checkpoint of step ", all.back(), ", and step ",
        steps, " is not after it; go on from that one, or give a run of its ",
        "own another directory"));
  }
  OCANNL_RETURN_IF_ERROR(SaveParams(PathOf(steps), arrays, context));
  all.push_back(steps);
  for (size_t k = 0; k + keep_ < all.size(); ++k) {
    std::error_code error;
    std::filesystem::remove(PathOf(all[k]), error);
    if (!error) continue;
    return absl::InternalError(
        absl::StrCat("cannot remove ", PathOf(all[k]), ": ", error.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CheckpointSeries::Restore(
    absl::Span<const Array> arrays, const Context& context) const {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<int64_t> all, Steps());
  if (all.empty()) return 0;
  OCANNL_RETURN_IF_ERROR(RestoreParams(PathOf(all.back()), arrays, context));
  return all.back();
}

}  // namespace ocannl::train
