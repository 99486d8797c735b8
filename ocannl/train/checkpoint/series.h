// SPDX-License-Identifier: Apache-2.0
//
// CheckpointSeries, a checkpoint manager: the checkpoints of one training run,
// of which the last few are kept: DIR/step_000000001200.npz. A run that is
// killed goes on at the latest that is whole, with the bits that it would have
// had.
//
//   OCANNL_ASSIGN_OR_RETURN(auto series, CheckpointSeries::Open(dir, 3));
//   OCANNL_ASSIGN_OR_RETURN(int64_t step, series.Restore(arrays, context));
//   ...                                                // training
//   OCANNL_RETURN_IF_ERROR(series.Save(step, arrays, context));
#ifndef OCANNL_TRAIN_CHECKPOINT_SERIES_H_
#define OCANNL_TRAIN_CHECKPOINT_SERIES_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/runtime/context.h"

namespace ocannl::train {

class CheckpointSeries {
 public:
  // In `directory`, which is made if it is not there, with the `keep` latest.
  // Errors: none are to be kept; the system's.
  static absl::StatusOr<CheckpointSeries> Open(std::string directory, int keep);

  // SaveParams of what there is after `steps` steps, after which older ones go.
  // Errors: those of SaveParams; the system's; a checkpoint of as many steps or
  // more is there, so that this is another run.
  absl::Status Save(int64_t steps, absl::Span<const Array> arrays,
                    const Context& context) const;

  // RestoreParams of the latest checkpoint that is whole; returns its steps, or
  // 0 if there is no checkpoint. Damaged ones after it are renamed to
  // NAME.damaged, so that Save can write these steps again, and stderr says so.
  // Errors: those of RestoreParams, with nothing written to the context; all
  // checkpoints are damaged (DataLoss); the system's.
  absl::StatusOr<int64_t> Restore(absl::Span<const Array> arrays,
                                  const Context& context) const;

  // The same with `restore` in the place of RestoreParams, which is given the
  // path of the file, and `log` in the place of stderr.
  absl::StatusOr<int64_t> RestoreWith(
      absl::FunctionRef<absl::Status(const std::string& path)> restore,
      std::ostream& log) const;

  // The steps of the checkpoints that are there, the latest last. Error: the
  // system's.
  absl::StatusOr<std::vector<int64_t>> Steps() const;

  // The file of the checkpoint of so many steps.
  std::string PathOf(int64_t steps) const;

 private:
  CheckpointSeries(std::string directory, int keep)
      : directory_(std::move(directory)), keep_(keep) {}

  // Renames a checkpoint that `damage` describes.
  absl::Status SetAside(int64_t steps, const absl::Status& damage,
                        std::ostream& log) const;

  std::string directory_;
  int keep_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_SERIES_H_
