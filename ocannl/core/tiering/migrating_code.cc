// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/migrating_code.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

// That Describe tells.
constexpr int64_t kMostEventsTold = 8;

}  // namespace

MigratingCode::MigratingCode(const LoopProgram& program, GpuTier* gpu,
                             bool in_background)
    : program_(program), gpu_(*gpu), in_background_(in_background) {
  for (const Buffer& buffer : program.buffers) roles_.push_back(buffer.role);
  forecast_ = ForecastOf(program, gpu->costs());
  stay_.preparation_seconds = forecast_.compile_seconds;
  if (gpu->opened() == nullptr) {
    stay_.preparation_seconds += gpu->costs().open_seconds;
  }
}

bool MigratingCode::Repeat(const std::shared_ptr<const Executable>& host_code,
                           absl::Span<std::byte* const> buffers,
                           absl::Span<int64_t> statics,
                           absl::Span<const int64_t> steps, int64_t count) {
  const auto [is_on_gpu, leaves_gpu] = ChooseSide();
  if (!is_on_gpu) {
    Account(gpu_.memory().BringToHost(roles_, buffers, leaves_gpu), count);
    return false;
  }
  const absl::StatusOr<Copies> copied = gpu_.memory().RunOnGpu(
      {.gpu_code = code_.get(),
       .host_code = host_code,
       .roles = roles_,
       .buffers = buffers,
       .statics = statics,
       .steps = steps,
       .count = count,
       .gpu_seconds = forecast_.gpu_seconds * static_cast<double>(count),
       .seconds_per_byte = 1 / gpu_.costs().copied_bytes_per_second});
  if (copied.ok()) {
    Account(*copied, count);
    return true;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Refuse(copied.status());
  }
  Account(gpu_.memory().BringToHost(roles_, buffers, /*leaves=*/true), count);
  return false;
}

MigratingCode::Side MigratingCode::ChooseSide() {
  std::unique_lock<std::mutex> lock(mutex_);
  Decision decision = Decide(forecast_, stay_);
  if (state_ == State::kOnHost && code_ == nullptr && decision.moves) {
    Tell("prepares the GPU", Reason(decision, stay_));
    state_ = State::kPreparing;
    lock.unlock();
    if (in_background_) {
      gpu_.thread().Do([self = shared_from_this()] { self->Prepare(); });
    } else {
      Prepare();
    }
    lock.lock();
    decision = Decide(forecast_, stay_);
  }
  const bool was_on_gpu = state_ == State::kOnGpu;
  if (decision.moves && code_ != nullptr && state_ != State::kRefused) {
    Tell(was_on_gpu ? "moves to the host" : "moves to the GPU",
         Reason(decision, stay_));
    Move(was_on_gpu ? State::kOnHost : State::kOnGpu);
  }
  const bool is_on_gpu = state_ == State::kOnGpu;
  return {.is_on_gpu = is_on_gpu, .leaves_gpu = was_on_gpu && !is_on_gpu};
}

void MigratingCode::Prepare() {
  const absl::Status opened = gpu_.Open();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!opened.ok()) return Refuse(opened);
    // With the costs of this machine, it may not pay any more.
    forecast_ = ForecastOf(program_, gpu_.costs());
    stay_.preparation_seconds = forecast_.compile_seconds;
    if (!Decide(forecast_, stay_).moves) {
      state_ = State::kOnHost;
      return;
    }
  }
  absl::StatusOr<std::unique_ptr<Executable>> code =
      gpu_.opened()->backend->Compile(program_);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!code.ok()) return Refuse(code.status());
  code_ = *std::move(code);
  stay_.preparation_seconds = 0;
  state_ = State::kOnHost;
}

void MigratingCode::Move(State state) {
  const double copied = stay_.copied_seconds /
                        static_cast<double>(std::max<int64_t>(stay_.runs, 1));
  state_ = state;
  stay_ = {.on_gpu = state == State::kOnGpu, .copied_seconds_there = copied};
}

void MigratingCode::Refuse(const absl::Status& error) {
  Tell("stays on the host", error.message());
  Move(State::kRefused);
}

// The copies of the first run of a stay are what moving takes.
void MigratingCode::Account(const Copies& copied, int64_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stay_.runs > 0) {
    stay_.copied_seconds +=
        CopySeconds(static_cast<double>(copied.bytes),
                    static_cast<double>(copied.count), gpu_.costs());
  }
  stay_.runs += count;
  runs_ += count;
  if (stay_.on_gpu) gpu_runs_ += count;
}

void MigratingCode::Tell(absl::string_view what, absl::string_view why) {
  if (++events_ > kMostEventsTold) return;
  absl::StrAppend(&history_, "  after ", runs_, " runs, ", what, ": ", why,
                  "\n");
}

std::string MigratingCode::Describe() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string text = history_;
  if (events_ > kMostEventsTold) {
    absl::StrAppend(&text, "  and ", events_ - kMostEventsTold,
                    " more times\n");
  }
  absl::StrAppend(&text, "  ", gpu_runs_, " runs on the GPU; now ",
                  state_ == State::kOnGpu ? "there" : "on the host");
  if (state_ == State::kRefused) return text;
  return absl::StrCat(text, ": ", Reason(Decide(forecast_, stay_), stay_));
}

}  // namespace ocannl
