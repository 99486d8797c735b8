// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/runtime/recording.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/checkpoint/series.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/fit/fit_parts.h"
#include "ocannl/train/fit/progress_bar.h"

namespace ocannl::train {
namespace {

constexpr int kKept = 3;  // checkpoints

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

class Loop {
 public:
  Loop(const FitStep& step, const Course& course, const FitOptions& options)
      : step_(step), course_(course), options_(options) {}

  absl::StatusOr<FitHistory> Run() && {
    std::optional<StopSignals> signals;
    if (Saves()) signals.emplace();
    if (is_first_) OCANNL_RETURN_IF_ERROR(Open());
    int64_t& next = history_.steps_done;
    OCANNL_RETURN_IF_ERROR(BroadcastValue(options_.communicator, next));
    if (options_.epochs_now > 0) {
      end_ = std::min(all_steps_, next + options_.epochs_now * step_.batches);
    }
    last_epoch_ = (end_ - 1) / step_.batches + 1;
    epochs_ = last_epoch_ - next / step_.batches;
    start_ = SteadySeconds();
    while (next < end_ && signal_ == 0 && log_status_.ok()) {
      const int64_t epoch = next / step_.batches + 1;
      if (next % step_.batches == 0) {
        history_.epoch_sum = 0;
        history_.epoch_steps = 0;
      }
      OCANNL_RETURN_IF_ERROR(step_.start_epoch(epoch - 1));
      const int64_t epoch_end = std::min(epoch * step_.batches, end_);
      OCANNL_RETURN_IF_ERROR(RunSteps(epoch_end));
      if (!is_first_) continue;
      OCANNL_RETURN_IF_ERROR(EndEpoch(epoch, next == epoch_end));
    }
    Show("");
    history_.seconds = SteadySeconds() - start_;
    if (is_first_) OCANNL_RETURN_IF_ERROR(Finish());
    OCANNL_RETURN_IF_ERROR(CheckIsWhole());
    return std::move(history_);
  }

 private:
  bool Saves() const {
    return !options_.save.empty() || !options_.checkpoints.empty();
  }

  // Restores what is to go on. Errors: what cannot be loaded, is of another
  // network or course, is at its end, or can never be saved or logged.
  absl::Status Open() {
    OCANNL_ASSIGN_OR_RETURN(interval_, IntervalOf(options_));
    if (!options_.checkpoints.empty()) {
      OCANNL_ASSIGN_OR_RETURN(
          checkpoints_, CheckpointSeries::Open(options_.checkpoints, kKept));
    }
    if (!options_.save.empty()) {
      OCANNL_RETURN_IF_ERROR(CheckSavable(options_.save));
    }
    OCANNL_RETURN_IF_ERROR(GoOn());
    if (!options_.log.empty()) {
      OCANNL_ASSIGN_OR_RETURN(
          log_,
          MetricsLog::Open(options_.log, history_.steps_done / step_.batches,
                           absl::StrCat(options_.prefix, "log")));
    }
    OCANNL_ASSIGN_OR_RETURN(curves_, Curves::Make(step_));
    return absl::OkStatus();
  }

  // Restores the latest of the checkpoints that is whole, else the file of
  // `load`; neither: does nothing. Errors: also a training that is at its end.
  absl::Status GoOn() {
    std::string said;
    auto restore = [&](const std::string& path) -> absl::Status {
      OCANNL_ASSIGN_OR_RETURN(said,
                              RestoreProgress(path, step_, course_, history_));
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
    const int64_t done = history_.steps_done;
    const std::string& prefix = options_.prefix;
    if (done < 0 || done >= all_steps_) {
      return UserError(prefix, there.empty() ? "load=" : "checkpoints=",
                       there.empty() ? load : options_.checkpoints, ": ", done,
                       " steps are done, and ", all_steps_, " are to be; give ",
                       prefix, "epochs more than ", options_.epochs);
    }
    if (options_.quiet) return absl::OkStatus();
    std::cout << "Goes on at step " << done << " of " << all_steps_ << ".\n"
              << said;
    if (!there.empty() && !load.empty()) {
      std::cout << "It is the last one of " << prefix << "checkpoints; "
                << prefix << "load=" << load << " is for when there is none.\n";
    }
    return absl::OkStatus();
  }

  // Runs steps to `end`, or to one at which there were StopSignals; saves where
  // it is due.
  absl::Status RunSteps(int64_t end) {
    double start = SteadySeconds();
    int64_t& next = history_.steps_done;
    do {  // once at least, so that there are losses to take
      OCANNL_RETURN_IF_ERROR(step_.run(next % step_.batches, next));
      if (curves_) OCANNL_RETURN_IF_ERROR(curves_->Append());
      ++next;
      if (options_.batch_lines && curves_) {
        OCANNL_RETURN_IF_ERROR(curves_->MoveTo(start, history_));
        TellBatch();
        start = SteadySeconds();
      }
      if (interval_ && next < end_ && interval_->IsDue(next)) {
        OCANNL_RETURN_IF_ERROR(curves_->MoveTo(start, history_));
        OCANNL_RETURN_IF_ERROR(SaveCheckpoint());
        start = SteadySeconds();
      }
      signal_ = StopSignals::received();
      OCANNL_RETURN_IF_ERROR(BroadcastValue(options_.communicator, signal_));
    } while (next < end && signal_ == 0);
    return curves_ ? curves_->MoveTo(start, history_) : absl::OkStatus();
  }

  // Tells of it, measures, logs and saves. `whole`: no signal stopped it.
  absl::Status EndEpoch(int64_t epoch, bool whole) {
    EpochMetrics metrics = {.epoch = epoch,
                            .step = history_.steps_done,
                            .loss = history_.mean_loss(),
                            .rate = history_.rates.back(),
                            .seconds = SteadySeconds() - start_};
    const int64_t told = (epochs_ + options_.lines - 1) / options_.lines;
    if (whole && (last_epoch_ - epoch) % told == 0) {
      Show("");
      if (!options_.quiet) {
        std::cout << absl::StrFormat(
                         "Epoch=%d, step=%d, lr=%.4g, mean loss=%.4g\n", epoch,
                         metrics.step, metrics.rate, metrics.loss)
                  << std::flush;
      }
      OCANNL_ASSIGN_OR_RETURN(metrics.measures, step_.measure());
      history_.measures = metrics.measures;
      Tell(metrics.measures);
    }
    if (options_.after_epoch) {
      OCANNL_RETURN_IF_ERROR(options_.after_epoch(metrics));
    }
    if (log_) log_status_ = log_->Write(metrics);
    if (!log_status_.ok()) {  // of SIGXFSZ, perhaps
      if (options_.communicator == nullptr) signal_ = StopSignals::received();
      return absl::OkStatus();
    }
    Show(absl::StrCat(ProgressBar("epoch", epoch, last_epoch_, 30), " ",
                      TimeLeft(epoch - last_epoch_ + epochs_, epochs_,
                               SteadySeconds() - start_)));
    return whole && metrics.step < end_ && checkpoints_ && !interval_
               ? SaveCheckpoint()
               : absl::OkStatus();
  }

  // Of the last step. Epochs count from 1, steps and batches from 0.
  void TellBatch() const {
    if (options_.quiet) return;
    Show("");
    const int64_t step = history_.steps_done - 1;
    std::cout << absl::StrFormat(
        "Epoch=%d, step=%d, batch=%d, lr=%.4g, loss=%.4g, epoch loss=%.4g\n",
        step / step_.batches + 1, step, step % step_.batches,
        history_.rates.back(), history_.losses.back(), history_.epoch_sum);
  }

  absl::Status SaveCheckpoint() const {
    OCANNL_ASSIGN_OR_RETURN(const std::vector<Array> arrays,
                            KeepProgress(step_, course_, history_));
    return checkpoints_->Save(history_.steps_done, arrays, step_.context);
  }

  // At the end of the run, which may not be that of the training: a checkpoint,
  // and the file of `save`.
  absl::Status Finish() const {
    if (checkpoints_ && history_.steps_done < all_steps_) {
      OCANNL_ASSIGN_OR_RETURN(const auto there, checkpoints_->Steps());
      if (there.empty() || there.back() < history_.steps_done) {
        OCANNL_RETURN_IF_ERROR(SaveCheckpoint());
      }
    }
    if (options_.save.empty()) return absl::OkStatus();
    OCANNL_ASSIGN_OR_RETURN(const std::vector<Array> arrays,
                            KeepProgress(step_, course_, history_));
    return SaveParams(options_.save, arrays, step_.context);
  }

  // Error: something stopped the training before its end.
  absl::Status CheckIsWhole() const {
    const std::string& kept =
        options_.save.empty() ? options_.checkpoints : options_.save;
    // On all ranks, whatever their flags: those that went on would wait for
    // them.
    if (signal_ != 0) {
      return absl::CancelledError(absl::StrCat(
          "stopped by ", strsignal(signal_), " after ", history_.steps_done,
          " steps; ", kept, " has what was trained"));
    }
    return absl::Status(
        log_status_.code(),
        absl::StrCat(log_status_.message(),
                     kept.empty() ? "" : "; what was trained is in ", kept));
  }

  void Tell(const Measures& measures) const {
    if (options_.quiet || measures.empty()) return;
    const auto one = [](std::string* out, const auto& measure) {
      absl::StrAppend(out, measure.first, "=",
                      absl::StrFormat("%.4g", measure.second));
    };
    std::cout << "  test: " << absl::StrJoin(measures, ", ", one) << "\n";
  }

  void Show(absl::string_view bar) const {
    if (!options_.quiet && is_first_) ShowProgress(bar);
  }

  const FitStep& step_;
  const Course& course_;
  const FitOptions& options_;
  const int64_t all_steps_ = options_.epochs * step_.batches;
  const bool is_first_ =  // of all ranks: others do not print, log or save
      options_.communicator == nullptr || options_.communicator->rank() == 0;
  int64_t end_ = all_steps_;  // of this run
  int64_t last_epoch_ = 0;
  int64_t epochs_ = 0;  // of this run
  double start_ = 0;
  std::optional<CheckpointSeries> checkpoints_;
  std::optional<CheckpointInterval> interval_;
  std::optional<MetricsLog> log_;
  std::optional<Curves> curves_;
  FitHistory history_;
  int signal_ = 0;           // what stopped it, or 0
  absl::Status log_status_;  // an error stopped it: the log cannot be written
};

}  // namespace

absl::StatusOr<FitHistory> RunFit(const FitStep& step, const Course& course,
                                  const FitOptions& options) {
  return Loop(step, course, options).Run();
}

}  // namespace ocannl::train
