// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/series.h"

#include <filesystem>
#include <iostream>
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
#include "ocannl/train/checkpoint/npz.h"

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
    if (std::filesystem::is_directory(PathOf(all[k]), error)) continue;
    std::filesystem::remove(PathOf(all[k]), error);
    if (!error) continue;
    return absl::InternalError(
        absl::StrCat("cannot remove ", PathOf(all[k]), ": ", error.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CheckpointSeries::Restore(
    absl::Span<const Array> arrays, const Context& context) const {
  return RestoreWith(
      [&](const std::string& path) {
        return RestoreParams(path, arrays, context,
                             {.layout = FileLayout::kOcannl});
      },
      std::cerr);
}

absl::StatusOr<int64_t> CheckpointSeries::RestoreWith(
    absl::FunctionRef<absl::Status(const std::string& path)> restore,
    std::ostream& log) const {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<int64_t> all, Steps());
  if (all.empty()) return 0;
  std::vector<absl::Status> damage;  // of the latest ones, the last first
  while (damage.size() < all.size()) {
    const int64_t steps = all[all.size() - 1 - damage.size()];
    absl::Status restored = restore(PathOf(steps));
    if (restored.ok()) {
      for (size_t k = 0; k < damage.size(); ++k) {
        OCANNL_RETURN_IF_ERROR(
            SetAside(all[all.size() - 1 - k], damage[k], log));
      }
      return steps;
    }
    absl::Status whole = CheckNpz(PathOf(steps));
    if (whole.ok()) return restored;  // it is of another network, say
    if (!absl::IsDataLoss(whole)) return whole;
    damage.push_back(std::move(whole));
  }
  return absl::DataLossError(absl::StrCat(
      "all checkpoints of ", directory_, " are damaged, the latest, ",
      damage[0].message(), "; restore one from another copy, or give the run ",
      "another directory to begin anew"));
}

absl::Status CheckpointSeries::SetAside(int64_t steps,
                                        const absl::Status& damage,
                                        std::ostream& log) const {
  const std::string path = PathOf(steps);
  const std::string aside = absl::StrCat(path, ".damaged");
  std::error_code error;
  std::filesystem::rename(path, aside, error);
  if (error) {
    return absl::InternalError(absl::StrCat("cannot rename ", path, " to ",
                                            aside, ": ", error.message()));
  }
  log << "The checkpoint of step " << steps << " is damaged and now called "
      << aside << ": " << damage.message() << "\n";
  return absl::OkStatus();
}

}  // namespace ocannl::train
