// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <iostream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/fit/fit_parts.h"

namespace ocannl::train {
namespace {

// Arrays that tell how far training is: steps; of their losses the first, the
// sum of the epoch, and how many are in it; and a Course as text.
constexpr char kStepsDone[] = "steps_done";
constexpr char kLossSoFar[] = "loss_so_far";
constexpr char kCourse[] = "course";
constexpr absl::string_view kOwn[] = {kStepsDone, kLossSoFar, kCourse};

constexpr int kKept = 3;  // checkpoints

NdArray BytesOf(const std::string& text) {
  NdArray bytes(DType::kU8, {static_cast<int64_t>(text.size())});
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// When a checkpoint is due; none: after each epoch.
absl::StatusOr<std::optional<CheckpointInterval>> IntervalOf(
    const FitOptions& options) {
  const std::string& every = options.checkpoint_every;
  if (every.empty()) return std::nullopt;
  const std::string name = absl::StrCat(options.prefix, "checkpoint_every");
  if (options.checkpoints.empty()) {
    return UserError(name, "=", every, " needs ", options.prefix,
                     "checkpoints=DIR");
  }
  absl::StatusOr<CheckpointInterval> interval =
      CheckpointInterval::Parse(every);
  if (interval.ok()) return *std::move(interval);
  return UserError(name, ": ", interval.status().message());
}

}  // namespace

absl::StatusOr<SavedRun> SavedRun::Make(const FitStep& step,
                                        const FitOptions& options,
                                        Course course, int64_t end_step) {
  SavedRun run(step, options, std::move(course), end_step);
  OCANNL_ASSIGN_OR_RETURN(run.interval_, IntervalOf(options));
  if (!options.checkpoints.empty()) {
    OCANNL_ASSIGN_OR_RETURN(run.checkpoints_,
                            CheckpointSeries::Open(options.checkpoints, kKept));
  }
  if (!options.save.empty()) {
    OCANNL_RETURN_IF_ERROR(CheckSavable(options.save));
  }
  OCANNL_RETURN_IF_ERROR(run.GoOn());
  if (!options.log.empty()) {
    OCANNL_ASSIGN_OR_RETURN(
        run.log_,
        MetricsLog::Open(options.log, run.begin_.steps_done / step.batches,
                         absl::StrCat(options.prefix, "log")));
  }
  return run;
}

// The state of the step, and where the training is.
std::vector<Array> SavedRun::Arrays() const {
  std::vector<Array> all = step_.state;
  all.push_back({.name = kStepsDone, .dtype = DType::kI64, .dims = {}});
  all.push_back({.name = kLossSoFar, .dtype = DType::kF64, .dims = {3}});
  all.push_back({.name = kCourse,
                 .dtype = DType::kU8,
                 .dims = BytesOf(ToText(course_)).dims()});
  return all;
}

// Writes those of Arrays() that are not the state.
absl::Status SavedRun::Keep(const FitHistory& history) const {
  return step_.context.WriteAll(std::vector<std::pair<std::string, NdArray>>{
      {kStepsDone, NdArray::Of<int64_t>({}, {history.steps_done})},
      {kLossSoFar, NdArray::Of<double>(
                       {3}, {history.first_loss.value_or(0), history.epoch_sum,
                             static_cast<double>(history.epoch_steps)})},
      {kCourse, BytesOf(ToText(course_))}});
}

// Restores what the file at `path` has. Returns what is to be said of it.
// Errors: it is of another network, or course.
absl::StatusOr<std::string> SavedRun::Restore(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<ArrayEntry> found,
                          ListArrays(path));
  auto has = [&](absl::string_view name) {
    return absl::c_any_of(
        found, [&](const ArrayEntry& entry) { return entry.name == name; });
  };
  std::string differs;
  if (has(kCourse)) {
    OCANNL_ASSIGN_OR_RETURN(const std::vector<NdArray> text,
                            LoadArrays(path, {kCourse}));
    absl::StatusOr<Course> course = ParseCourse(text[0].AsString());
    if (!course.ok()) return FileError(path, course.status().message());
    OCANNL_ASSIGN_OR_RETURN(differs, CompareCourses(path, *course, course_));
  }
  OCANNL_RETURN_IF_ERROR(CheckNetwork(path, found, step_.state, kOwn, course_));
  std::vector<Array> wanted = Arrays();
  wanted.pop_back();  // the course, whose length may be another
  const bool has_loss = has(kLossSoFar);
  if (!has_loss) wanted.pop_back();
  const Context& context = step_.context;
  OCANNL_RETURN_IF_ERROR(
      RestoreParams(path, wanted, context, {.allow_extra = true}));
  OCANNL_ASSIGN_OR_RETURN(const NdArray done, context.Read(kStepsDone));
  begin_.steps_done = done.values<int64_t>()[0];
  if (has_loss) {
    OCANNL_ASSIGN_OR_RETURN(const NdArray loss, context.Read(kLossSoFar));
    const auto values = loss.values<double>();
    begin_.first_loss = values[0];
    begin_.epoch_sum = values[1];
    begin_.epoch_steps = static_cast<int64_t>(values[2]);
  }
  std::string said;
  if (!differs.empty()) {
    absl::StrAppend(&said, "Saved with ", differs,
                    ": from here on, the course is another one.\n");
  }
  if (!has(kCourse)) {
    absl::StrAppend(&said, "The file has no flags to compare with these",
                    has_loss ? "" : ", and no loss of its epoch", ".\n");
  }
  return said;
}

// Restores the latest of the checkpoints that is whole, else the file of
// `load`; neither: does nothing. Errors: also a training that is at its end.
absl::Status SavedRun::GoOn() {
  std::string said;
  auto restore = [&](const std::string& path) -> absl::Status {
    OCANNL_ASSIGN_OR_RETURN(said, Restore(path));
    return absl::OkStatus();
  };
  std::vector<int64_t> there;
  if (checkpoints_) {
    OCANNL_ASSIGN_OR_RETURN(there, checkpoints_->Steps());
  }
  const std::string& load = options_.load;
  if (!there.empty()) {
    OCANNL_RETURN_IF_ERROR(
        checkpoints_
            ->RestoreWith(restore, options_.quiet ? std::cerr : std::cout)
            .status());
  } else if (load.empty()) {
    return absl::OkStatus();
  } else {
    OCANNL_RETURN_IF_ERROR(restore(load));
  }
  const int64_t done = begin_.steps_done;
  const std::string& prefix = options_.prefix;
  if (done < 0 || done >= end_step_) {
    return UserError(prefix, there.empty() ? "load=" : "checkpoints=",
                     there.empty() ? load : options_.checkpoints, ": ", done,
                     " steps are done, and ", end_step_, " are to be; give ",
                     prefix, "epochs more than ", options_.epochs);
  }
  if (options_.quiet) return absl::OkStatus();
  std::cout << "Goes on at step " << done << " of " << end_step_ << ".\n"
            << said;
  if (!there.empty() && !load.empty()) {
    std::cout << "It is the last one of " << prefix << "checkpoints; " << prefix
              << "load=" << load << " is for when there is none.\n";
  }
  return absl::OkStatus();
}

bool SavedRun::IsDue(int64_t steps_done) {
  return interval_ && interval_->IsDue(steps_done);
}

absl::Status SavedRun::SaveCheckpoint(const FitHistory& history) const {
  OCANNL_RETURN_IF_ERROR(Keep(history));
  return checkpoints_->Save(history.steps_done, Arrays(), step_.context);
}

absl::Status SavedRun::Finish(const FitHistory& history) const {
  if (checkpoints_ && history.steps_done < end_step_) {
    OCANNL_ASSIGN_OR_RETURN(const auto there, checkpoints_->Steps());
    if (there.empty() || there.back() < history.steps_done) {
      OCANNL_RETURN_IF_ERROR(SaveCheckpoint(history));
    }
  }
  if (options_.save.empty()) return absl::OkStatus();
  OCANNL_RETURN_IF_ERROR(Keep(history));
  return SaveParams(options_.save, Arrays(), step_.context);
}

}  // namespace ocannl::train
