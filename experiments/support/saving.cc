// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/saving.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "experiments/support/metrics_log.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/checkpoint/series.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl {
namespace {

// Arrays that tell how far training is: steps; of their losses the first, the
// sum of the epoch, and how many are in it; and a Course as text.
constexpr absl::string_view kStepsDone = "steps_done";
constexpr absl::string_view kLossSoFar = "loss_so_far";
constexpr absl::string_view kCourse = "course";
constexpr absl::string_view kOwn[] = {kStepsDone, kLossSoFar, kCourse};

constexpr int kKept = 3;  // of --checkpoints

using Checkpoints = std::optional<train::CheckpointSeries>;

// Those of --checkpoints, if it is given.
absl::StatusOr<Checkpoints> OpenCheckpoints(const CommandLine& line) {
  const std::string directory = UserPath(line.GetString("checkpoints"));
  if (directory.empty()) return std::nullopt;
  OCANNL_ASSIGN_OR_RETURN(train::CheckpointSeries series,
                          train::CheckpointSeries::Open(directory, kKept));
  return series;
}

// When there is one, by --checkpoint_every; null: after each epoch.
absl::StatusOr<std::function<bool(int64_t steps_done)>> IntervalOf(
    const CommandLine& line, const Checkpoints& checkpoints) {
  const std::string every = line.GetString("checkpoint_every");
  if (every.empty()) return nullptr;
  if (!checkpoints) {
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoint_every=", every, " needs --checkpoints=DIR"));
  }
  absl::StatusOr<train::CheckpointInterval> interval =
      train::CheckpointInterval::Parse(every);
  if (interval.ok()) {
    return [interval = *interval](int64_t steps_done) mutable {
      return interval.IsDue(steps_done);
    };
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--checkpoint_every: ", interval.status().message()));
}

NdArray BytesOf(const std::string& text) {
  NdArray bytes(DType::kU8, {static_cast<int64_t>(text.size())});
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// What a training takes to go on.
struct Saved {
  const Context& context;
  const Course& course;
  std::vector<Array> state;

  // `state`, and where the training is.
  std::vector<Array> Arrays() const {
    std::vector<Array> all = state;
    all.push_back(
        {.name = std::string(kStepsDone), .dtype = DType::kI64, .dims = {}});
    all.push_back(
        {.name = std::string(kLossSoFar), .dtype = DType::kF64, .dims = {3}});
    all.push_back({.name = std::string(kCourse),
                   .dtype = DType::kU8,
                   .dims = BytesOf(ToText(course)).dims()});
    return all;
  }

  // Writes those of Arrays() that are not the state.
  absl::Status Keep(const History& history) const {
    const LossSoFar& loss = history.loss_so_far;
    return context.WriteAll(std::vector<std::pair<std::string, NdArray>>{
        {std::string(kStepsDone),
         NdArray::Of<int64_t>({}, {history.steps_done})},
        {std::string(kLossSoFar),
         NdArray::Of<double>({3}, {loss.first.value_or(0), loss.epoch_sum,
                                   static_cast<double>(loss.epoch_steps)})},
        {std::string(kCourse), BytesOf(ToText(course))}});
  }
};

// Restores what the file at `path` has. Returns what is to be said of it.
// Errors: it is of another network, or course.
absl::StatusOr<std::string> Restore(const std::string& path, const Saved& saved,
                                    LoopOptions& loop) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<train::ArrayEntry> found,
                          train::ListArrays(path));
  auto has = [&](absl::string_view name) {
    return absl::c_any_of(found, [&](const train::ArrayEntry& entry) {
      return entry.name == name;
    });
  };
  std::string differs;
  if (has(kCourse)) {
    OCANNL_ASSIGN_OR_RETURN(const std::vector<NdArray> text,
                            train::LoadArrays(path, {std::string(kCourse)}));
    absl::StatusOr<Course> course = ParseCourse(text[0].AsString());
    if (!course.ok()) return train::FileError(path, course.status().message());
    OCANNL_ASSIGN_OR_RETURN(differs,
                            CompareCourses(path, *course, saved.course));
  }
  OCANNL_RETURN_IF_ERROR(
      CheckNetwork(path, found, saved.state, kOwn, saved.course));
  std::vector<Array> wanted = saved.Arrays();
  wanted.pop_back();  // the course, whose length may be another
  const bool has_loss = has(kLossSoFar);
  if (!has_loss) wanted.pop_back();
  OCANNL_RETURN_IF_ERROR(
      train::RestoreParams(path, wanted, saved.context, {.allow_extra = true}));
  OCANNL_ASSIGN_OR_RETURN(NdArray done,
                          saved.context.Read(std::string(kStepsDone)));
  loop.first_step = done.values<int64_t>()[0];
  if (has_loss) {
    OCANNL_ASSIGN_OR_RETURN(NdArray loss,
                            saved.context.Read(std::string(kLossSoFar)));
    const auto values = loss.values<double>();
    loop.loss_so_far = {.first = values[0],
                        .epoch_sum = values[1],
                        .epoch_steps = static_cast<int64_t>(values[2])};
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

// Restores the latest of --checkpoints that is whole, else the file of --load;
// neither: does nothing. Errors: also a training that is at its end.
absl::Status GoOn(const CommandLine& line, const Saved& saved,
                  const Checkpoints& checkpoints, LoopOptions& loop) {
  const std::string load = line.GetString("load");
  absl::string_view flag = "load";
  std::string said;
  auto restore = [&](const std::string& path) -> absl::Status {
    OCANNL_ASSIGN_OR_RETURN(said, Restore(path, saved, loop));
    return absl::OkStatus();
  };
  if (checkpoints) {
    OCANNL_ASSIGN_OR_RETURN(const auto there, checkpoints->Steps());
    if (!there.empty()) flag = "checkpoints";
  }
  if (flag == "checkpoints") {
    OCANNL_RETURN_IF_ERROR(
        checkpoints->RestoreWith(restore, std::cout).status());
  } else if (load.empty()) {
    return absl::OkStatus();
  } else {
    OCANNL_RETURN_IF_ERROR(restore(UserPath(load)));
  }
  const int64_t done = loop.first_step;
  if (done < 0 || done >= loop.end_step) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, "=", line.GetString(flag), ": ", done,
        " steps are done, and ", loop.end_step,
        " are to be; give --epochs more than ", line.GetString("epochs")));
  }
  std::cout << "Goes on at step " << done << " of " << loop.end_step << ".\n"
            << said;
  if (flag == "checkpoints" && !load.empty()) {
    std::cout << "It is the last one of --checkpoints; --load=" << load
              << " is for when there is none.\n";
  }
  return absl::OkStatus();
}

// Writes to the file of --log.
absl::StatusOr<std::function<absl::Status(const EpochMetrics&)>> LogOf(
    const CommandLine& line, int64_t epochs) {
  OCANNL_ASSIGN_OR_RETURN(
      MetricsLog opened,
      MetricsLog::Open(UserPath(line.GetString("log")), epochs));
  auto log = std::make_shared<MetricsLog>(std::move(opened));
  return [log](const EpochMetrics& metrics) { return log->Write(metrics); };
}

// Error: something stopped the training before its end; `kept` has it.
absl::Status CheckIsWhole(const History& history, const std::string& kept) {
  // On all ranks, whatever their flags: those that went on would wait for them.
  if (history.stop_signal != 0) {
    return absl::CancelledError(absl::StrCat(
        "stopped by ", strsignal(history.stop_signal), " after ",
        history.steps_done, " steps; ", kept, " has what was trained"));
  }
  return absl::Status(
      history.log_status.code(),
      absl::StrCat(history.log_status.message(),
                   kept.empty() ? "" : "; what was trained is in ", kept));
}

}  // namespace

const std::vector<Flag>& SavingFlags() {
  static const auto* flags = new std::vector<Flag>{
      {"checkpoints", "", "a directory that keeps the last 3, to go on from"},
      {"checkpoint_every", "",
       "steps, as 100, or a time, as 30s or 5m; else an epoch"},
      {"epochs_now", "0", "of this run; 0: all that are left"},
      {"load", "", "a file of --save, to go on from if no checkpoint is there"},
      LogFlag(),
      {"save", "", "for --load, at the end or Ctrl-C: .npz or .safetensors"}};
  return *flags;
}

absl::StatusOr<History> TrainAndSave(
    const CommandLine& line, const Course& course, const TrainingStep& step,
    LoopOptions loop,
    absl::FunctionRef<absl::StatusOr<Measures>()> after_epoch) {
  const Saved saved{
      .context = step.context, .course = course, .state = step.state};
  Checkpoints checkpoints;
  if (step.is_told()) {
    OCANNL_ASSIGN_OR_RETURN(checkpoints, OpenCheckpoints(line));
    OCANNL_ASSIGN_OR_RETURN(loop.checkpoint_is_due,
                            IntervalOf(line, checkpoints));
  }
  if (checkpoints) {
    loop.checkpoint = [&](const History& history) -> absl::Status {
      OCANNL_RETURN_IF_ERROR(saved.Keep(history));
      return checkpoints->Save(history.steps_done, saved.Arrays(),
                               step.context);
    };
  }
  const std::string save = UserPath(line.GetString("save"));
  if (!save.empty() && step.is_told()) {
    OCANNL_RETURN_IF_ERROR(train::CheckSavable(save));
  }
  const std::string kept =
      save.empty() ? UserPath(line.GetString("checkpoints")) : save;
  std::optional<StopSignals> signals;
  if (!kept.empty()) signals.emplace();
  if (step.is_told()) {
    OCANNL_RETURN_IF_ERROR(GoOn(line, saved, checkpoints, loop));
  }
  OCANNL_RETURN_IF_ERROR(train::BroadcastValue(step.ranks, loop.first_step));
  if (step.is_told() && line.Has("log")) {
    OCANNL_ASSIGN_OR_RETURN(loop.log,
                            LogOf(line, loop.first_step / step.batches));
  }
  const int64_t all_steps = loop.end_step;
  OCANNL_ASSIGN_OR_RETURN(int64_t now, line.GetInt("epochs_now", 0, 1'000'000));
  if (now > 0) {
    loop.end_step =
        std::min(loop.end_step, loop.first_step + now * step.batches);
  }
  OCANNL_ASSIGN_OR_RETURN(History history,
                          TrainingLoop(step, loop, after_epoch));
  if (checkpoints && history.steps_done < all_steps) {
    OCANNL_ASSIGN_OR_RETURN(const auto there, checkpoints->Steps());
    if (there.empty() || there.back() < history.steps_done) {
      OCANNL_RETURN_IF_ERROR(loop.checkpoint(history));
    }
  }
  if (!save.empty() && step.is_told()) {
    OCANNL_RETURN_IF_ERROR(saved.Keep(history));
    OCANNL_RETURN_IF_ERROR(
        train::SaveParams(save, saved.Arrays(), step.context));
  }
  OCANNL_RETURN_IF_ERROR(CheckIsWhole(history, kept));
  return history;
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  if (absl::IsCancelled(status)) return 128 + StopSignals::received();
  return ExitCodeOfError(status);
}

}  // namespace ocannl
