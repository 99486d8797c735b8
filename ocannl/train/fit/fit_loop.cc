// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/core/runtime/recording.h"
#include "ocannl/train/fit/fit_parts.h"
#include "ocannl/train/fit/progress_bar.h"

namespace ocannl::train {
namespace {

// The losses and rates of an epoch, kept on the device, so that its steps may
// run as one loop.
struct Curves {
  static absl::StatusOr<Curves> Make(const FitStep& step) {
    OCANNL_ASSIGN_OR_RETURN(
        Recording losses,
        Recording::Make(step.context, step.loss, step.batches));
    OCANNL_ASSIGN_OR_RETURN(
        Recording rates,
        Recording::Make(step.context, "learning_rate", step.batches));
    return Curves{std::move(losses), std::move(rates)};
  }
  absl::Status Append() {
    ++count;
    OCANNL_RETURN_IF_ERROR(losses.Append());
    return rates.Append();
  }
  // Moves what was appended, by steps since `start`, to the history.
  absl::Status MoveTo(double start, FitHistory& history) {
    if (std::exchange(count, 0) == 0) return absl::OkStatus();
    OCANNL_ASSIGN_OR_RETURN(const NdArray loss, losses.Take());
    history.step_seconds += SteadySeconds() - start;
    OCANNL_ASSIGN_OR_RETURN(const NdArray rate, rates.Take());
    if (!history.first_loss) history.first_loss = loss.AsDouble(0);
    for (int64_t k = 0; k < loss.size(); ++k) {
      history.losses.push_back(loss.AsDouble(k));
      history.rates.push_back(rate.AsDouble(k));
      history.epoch_sum += loss.AsDouble(k);
      ++history.epoch_steps;
    }
    return absl::OkStatus();
  }

  Recording losses, rates;
  int64_t count = 0;
};

class Loop {
 public:
  Loop(const FitStep& step, const FitOptions& options, SavedRun* saved,
       int64_t begin, int64_t end)
      : step_(step),
        options_(options),
        saved_(saved),
        begin_(begin),
        end_(end),
        last_epoch_((end - 1) / step.batches + 1),
        epochs_(last_epoch_ - begin / step.batches),
        told_((epochs_ + options.lines - 1) / options.lines) {
    if (saved != nullptr) history() = saved->begin();
    history().steps_done = begin;
  }

  absl::StatusOr<FitLoopEnd> Run() && {
    if (saved_ != nullptr) {
      OCANNL_ASSIGN_OR_RETURN(curves_, Curves::Make(step_));
    }
    const int64_t& next = history().steps_done;
    while (next < end_ && result_.signal == 0 && result_.log_status.ok()) {
      const int64_t epoch = next / step_.batches + 1;
      if (next % step_.batches == 0) {
        history().epoch_sum = 0;
        history().epoch_steps = 0;
      }
      OCANNL_RETURN_IF_ERROR(step_.start_epoch(epoch - 1));
      const int64_t epoch_end = std::min(epoch * step_.batches, end_);
      OCANNL_RETURN_IF_ERROR(RunSteps(epoch_end));
      if (saved_ == nullptr) continue;
      OCANNL_RETURN_IF_ERROR(EndEpoch(epoch, next == epoch_end));
    }
    Show("");
    history().seconds = SteadySeconds() - start_;
    return std::move(result_);
  }

 private:
  FitHistory& history() { return result_.history; }

  // Runs steps to `end`, or to one at which there were StopSignals; saves where
  // it is due.
  absl::Status RunSteps(int64_t end) {
    double start = SteadySeconds();
    int64_t& next = history().steps_done;
    do {  // once at least, so that there are losses to take
      OCANNL_RETURN_IF_ERROR(step_.run(next % step_.batches, next));
      if (curves_) OCANNL_RETURN_IF_ERROR(curves_->Append());
      ++next;
      if (saved_ != nullptr && next < end_ && saved_->IsDue(next)) {
        OCANNL_RETURN_IF_ERROR(curves_->MoveTo(start, history()));
        OCANNL_RETURN_IF_ERROR(saved_->SaveCheckpoint(history()));
        start = SteadySeconds();
      }
      result_.signal = StopSignals::received();
      OCANNL_RETURN_IF_ERROR(
          BroadcastValue(options_.communicator, result_.signal));
    } while (next < end && result_.signal == 0);
    return curves_ ? curves_->MoveTo(start, history()) : absl::OkStatus();
  }

  // Tells of it, measures, logs and saves. `whole`: no signal stopped it.
  absl::Status EndEpoch(int64_t epoch, bool whole) {
    EpochMetrics metrics = {.epoch = epoch,
                            .step = history().steps_done,
                            .loss = history().mean_loss(),
                            .rate = history().rates.back(),
                            .seconds = SteadySeconds() - start_};
    if (whole && (last_epoch_ - epoch) % told_ == 0) {
      Show("");
      if (!options_.quiet) {
        std::cout << absl::StrFormat(
                         "Epoch=%d, step=%d, lr=%.4g, mean loss=%.4g\n", epoch,
                         metrics.step, metrics.rate, metrics.loss)
                  << std::flush;
      }
      OCANNL_ASSIGN_OR_RETURN(metrics.measures, step_.measure());
      history().measures = metrics.measures;
    }
    if (options_.after_epoch) {
      OCANNL_RETURN_IF_ERROR(options_.after_epoch(metrics));
    }
    result_.log_status = saved_->Log(metrics);
    if (!result_.log_status.ok()) {  // of SIGXFSZ, perhaps
      if (options_.communicator == nullptr) {
        result_.signal = StopSignals::received();
      }
      return absl::OkStatus();
    }
    Show(absl::StrCat(ProgressBar("epoch", epoch, last_epoch_, 30), " ",
                      TimeLeft(epoch - last_epoch_ + epochs_, epochs_,
                               SteadySeconds() - start_)));
    return whole && metrics.step < end_ && saved_->saves_epochs()
               ? saved_->SaveCheckpoint(history())
               : absl::OkStatus();
  }

  void Show(absl::string_view bar) const {
    if (!options_.quiet && saved_ != nullptr) ShowProgress(bar);
  }

  const FitStep& step_;
  const FitOptions& options_;
  SavedRun* saved_;  // null: this is not the first rank
  int64_t begin_, end_;
  int64_t last_epoch_;
  int64_t epochs_;  // of this run
  int64_t told_;    // each epoch of so many
  std::optional<Curves> curves_;
  FitLoopEnd result_;
  const double start_ = SteadySeconds();
};

}  // namespace

absl::StatusOr<FitLoopEnd> FitLoop(const FitStep& step,
                                   const FitOptions& options, SavedRun* saved,
                                   int64_t begin, int64_t end) {
  return Loop(step, options, saved, begin, end).Run();
}

}  // namespace ocannl::train
