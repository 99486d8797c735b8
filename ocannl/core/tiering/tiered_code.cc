// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/tiered_code.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tiering/cost/predict.h"

namespace ocannl {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int kMaxErrors = 2;

int64_t Nanoseconds(double seconds) {
  constexpr double kMost = 1e18;  // 30 years
  return static_cast<int64_t>(std::min(seconds * 1e9, kMost));
}

std::string Milliseconds(double seconds) {
  return absl::StrFormat("%.3g ms", 1e3 * seconds);
}

}  // namespace

double SystemSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TieredCode::TieredCode(const LoopProgram& program, const Tiering* tiering,
                       BackgroundThread* thread)
    : program_(program),
      tiering_(*tiering),
      thread_(thread),
      migrating_(tiering->gpu == nullptr
                     ? nullptr
                     : std::make_shared<MigratingCode>(
                           program, tiering->gpu.get(), thread != nullptr)) {
  const Prediction prediction = Predict(program);
  run_seconds_ = prediction.operations * tiering_.operation_seconds;
  compile_seconds_ = tiering_.compile_seconds +
                     prediction.instructions * tiering_.instruction_seconds;
  due_ = Nanoseconds(compile_seconds_);
}

absl::Status TieredCode::Start() {
  if (run_seconds_ >= compile_seconds_) {
    due_ = kNever;
    CompileSecond();
    if (second() != nullptr) return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(first_, tiering_.first->Compile(program_));
  return absl::OkStatus();
}

void TieredCode::AddRunOfFirst(double seconds) {
  runs_.fetch_add(1, std::memory_order_relaxed);
  spent_.fetch_add(Nanoseconds(seconds), std::memory_order_relaxed);
}

void TieredCode::Promote() {
  // One caller of those that come at once gets to do it.
  if (due_.exchange(kNever) == kNever) return;
  if (thread_ != nullptr && compile_seconds_ > tiering_.background_seconds) {
    thread_->Do([self = shared_from_this()] { self->CompileSecond(); });
  } else {
    CompileSecond();
  }
}

void TieredCode::Hasten() {
  if (second() == nullptr && due_.exchange(kNever) != kNever) CompileSecond();
}

void TieredCode::CompileSecond() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    runs_before_ = runs_;
    spent_before_ = spent_;
  }
  const double start = tiering_.now();
  absl::StatusOr<std::unique_ptr<Executable>> compiled =
      tiering_.second->Compile(program_);
  std::lock_guard<std::mutex> lock(mutex_);
  compiled_in_ += tiering_.now() - start;
  if (compiled.ok()) {
    second_owner_ = *std::move(compiled);
    second_.store(second_owner_.get(), std::memory_order_release);
    return;
  }
  error_ = compiled.status();
  if (++errors_ < kMaxErrors) due_ = Nanoseconds(2 * compile_seconds_);
}

std::string TieredCode::Describe() const {
  std::string text = DescribeSecond();
  if (migrating_ != nullptr) {
    absl::StrAppend(&text, "\n", migrating_->Describe());
  }
  return text;
}

std::string TieredCode::DescribeSecond() const {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string tier(tiering_.second->name());
  const std::string predicted = Milliseconds(compile_seconds_);
  if (second() != nullptr) {
    const std::string how =
        absl::StrCat("compiled for ", tier, " in ", Milliseconds(compiled_in_),
                     " (predicted: ", predicted, ") ");
    if (runs_before_ == 0) {
      return absl::StrCat(how, "before the first run, which would take ",
                          Milliseconds(run_seconds_));
    }
    return absl::StrCat(how, "after ", runs_before_, " runs, which took ",
                        Milliseconds(1e-9 * spent_before_));
  }
  const std::string failed =
      errors_ == 0
          ? ""
          : absl::StrCat(", which failed ",
                         errors_ == 1 ? "once: " : "twice: ", error_.message());
  if (due_ != kNever) {
    return absl::StrCat("not compiled for ", tier, failed, "; spent ",
                        Milliseconds(1e-9 * spent_), " of ",
                        Milliseconds(1e-9 * due_));
  }
  if (errors_ == kMaxErrors) {
    return absl::StrCat("never compiled for ", tier, failed);
  }
  return absl::StrCat("compiling for ", tier, " (predicted: ", predicted, ")");
}

}  // namespace ocannl
