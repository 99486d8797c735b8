// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/threads/team.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/runtime/threads/spin.h"
#include "ocannl/core/runtime/threads/worker.h"

namespace ocannl {
namespace {

// How long members spin before they park: as long as serial work between two
// parallel loops often takes, since a wake-up costs 40 us; less where members
// of all teams are more than processors, so that one that spins keeps another
// from its work. To measure: `bazel run //experiments:bench --
// --filter=width/,net/
// --threads=2`.
constexpr std::chrono::microseconds kTeamSpin(200);
constexpr std::chrono::microseconds kCrowdedTeamSpin(20);

std::atomic<int> members_of_all_teams = 0;

std::chrono::microseconds TeamSpin() {
  static const int processors = Team::MaxSize();
  const int members = members_of_all_teams.load(std::memory_order_relaxed);
  return members <= processors ? kTeamSpin : kCrowdedTeamSpin;
}

}  // namespace

int Team::MaxSize() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

Team::Team(int size) {
  CHECK(size >= 1) << size;
  threads_.reserve(size - 1);  // All that can fail below is a new thread.
  try {
    for (int member = 1; member < size; ++member) {
      threads_.emplace_back([this, member] { Serve(member); });
    }
  } catch (const std::system_error&) {
    // Those that are there do all the work.
  }
  members_of_all_teams += this->size();
}

Team::Team(absl::Span<Worker* const> workers) {
  for (Worker* worker : workers) {
    if (worker->has_thread()) workers_.push_back(worker);
  }
  members_of_all_teams += size();
}

Team::~Team() {
  for (Worker* worker : workers_) worker->Record().Wait();  // they left Wait()
  stops_.store(true, std::memory_order_relaxed);
  Advance(round_);
  members_of_all_teams -= size();
  for (std::thread& thread : threads_) thread.join();
}

void Team::Serve(int member) {
  NameThread("team member");
  // A new thread starts with the modes of the thread that made it.
  DefaultFloatEnvironment guard;
  uint32_t seen = 0;
  while (true) {
    SpinThenPark(round_, seen, TeamSpin());
    ++seen;
    if (stops_.load(std::memory_order_relaxed)) return;
    DoShare(member);
    Wait();
  }
}

void Team::DoShare(int member) {
  try {
    (*work_)(member);
  } catch (...) {
    std::lock_guard<std::mutex> lock(throwing_);
    thrown_ = std::current_exception();
  }
}

std::atomic<int> Team::SideBySide::count = 0;
thread_local int Team::SideBySide::own_count = 0;
constinit thread_local Team* Team::Scope::current = nullptr;

bool Team::TryRun(absl::FunctionRef<void(int member)> work) {
  if (workers_.empty() && SideBySide::count.load(std::memory_order_relaxed) >
                              SideBySide::own_count) {
    return false;
  }
  std::unique_lock<std::mutex> lock(running_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  MigrateOffCaller(absl::MakeSpan(threads_), callers_processor_);
  work_.emplace(work);
  Advance(round_);
  for (size_t k = 0; k < workers_.size(); ++k) {
    workers_[k]->Submit([this, member = static_cast<int>(k) + 1] {
      DoShare(member);
      Wait();
    });
  }
  DoShare(0);
  Wait();
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, {}));
  return true;
}

void Team::Wait() {
  const uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      static_cast<uint32_t>(size())) {
    arrived_.store(0, std::memory_order_relaxed);
    Advance(phase_);
  } else {
    SpinThenPark(phase_, phase, TeamSpin());
  }
}

}  // namespace ocannl
