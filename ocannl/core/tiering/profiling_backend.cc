// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/profiling_backend.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/plan_buffers.h"

namespace ocannl {
namespace {

using Clock = std::chrono::steady_clock;

// In nanoseconds.
int64_t Elapsed(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from)
      .count();
}

// The clock's own part of what it measures, in nanoseconds.
int64_t ClockCost() {
  static const int64_t cost = [] {
    int64_t least = 1000;
    for (int k = 0; k < 100; ++k) {
      const Clock::time_point start = Clock::now();
      least = std::min(least, Elapsed(start, Clock::now()));
    }
    return least;
  }();
  return cost;
}

// Where the buffers of a program are: the caller's and an arena's.
struct Layout {
  // `callers` is the program as its caller knows it.
  static absl::StatusOr<Layout> Of(const LoopProgram& callers,
                                   const LoopProgram& program) {
    Layout layout;
    OCANNL_ASSIGN_OR_RETURN(layout.plan, PlanBuffers(program));
    layout.callers = CallersBuffers(callers, program);
    return layout;
  }

  // Only the arena's; Bind adds the caller's.
  std::vector<std::byte*> Arenas(std::byte* arena) const {
    std::vector<std::byte*> all(plan.offsets.size(), nullptr);
    for (BufferId k : plan.offsets.ids()) {
      if (plan.offsets[k] >= 0) all[k.index] = arena + plan.offsets[k];
    }
    return all;
  }

  void Bind(absl::Span<std::byte* const> given,
            std::vector<std::byte*>& all) const {
    for (auto [buffer, argument] : callers) {
      all[buffer.index] = given[argument.index];
    }
  }

  BufferPlan plan;
  std::vector<std::pair<BufferId, BufferId>> callers;  // buffer, argument
};

struct Nest {
  std::string name;  // "step:nest-2"
  int64_t flops;
  std::unique_ptr<Executable> executable;
};

// What runs of a program need.
struct ProfiledCode {
  std::unique_ptr<Executable> whole;
  std::vector<Nest> nests;
  Layout whole_layout, nests_layout;
};

class ProfiledExecutable : public Executable {
 public:
  ProfiledExecutable(ProfiledCode code, std::shared_ptr<Team> team,
                     std::shared_ptr<ProgramProfile> profile)
      : code_(std::move(code)),
        team_(std::move(team)),
        profile_(std::move(profile)) {}
  ~ProfiledExecutable() override { delete last_.load(); }

  // Whole runs and runs of nests may have different temps.
  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    // Both share one team: two would take processors from each other.
    const Team::Scope scope(Team::Current() == nullptr ? team_.get() : nullptr);
    const int64_t run = runs_.fetch_add(1, std::memory_order_relaxed);
    std::unique_ptr<Scratch> scratch = TakeScratch();
    const int64_t phase = run % period_.load(std::memory_order_relaxed);
    if (phase == 0) {
      code_.nests_layout.Bind(buffers, scratch->nests);
      RunNests(scratch->nests, statics);
    } else {
      code_.whole_layout.Bind(buffers, scratch->whole);
      if (phase == 1) {
        RunWhole(scratch->whole, statics);
      } else {
        code_.whole->Run(scratch->whole, statics);
      }
    }
    if (run == kAlternating) period_ = FindPeriod();
    Return(std::move(scratch));
  }

 private:
  // What one run needs beside the caller's buffers.
  struct Scratch {
    DeviceMemory arena;
    std::vector<std::byte*> whole, nests;
  };

  static constexpr int64_t kAlternating = 64;

  // A run nest by nest takes longer, and the one behind it is timed: so many
  // runs apart that this costs 2 % of the time at most.
  int64_t FindPeriod() const {
    constexpr double kShare = 0.02;
    std::lock_guard<std::mutex> lock(profile_->mutex);
    // The shorter ones, which other processes have not disturbed.
    const double whole = std::max(1e-9, profile_->whole.Quantile(0.1));
    const double more =
        profile_->together.Quantile(0.1) - whole +
        2e-9 * static_cast<double>((code_.nests.size() + 3) * ClockCost());
    return static_cast<int64_t>(std::clamp(more / (kShare * whole), 8., 1e5));
  }

  void RunWhole(const std::vector<std::byte*>& buffers,
                absl::Span<const int64_t> statics) const {
    const Clock::time_point start = Clock::now();
    code_.whole->Run(buffers, statics);
    const Clock::time_point end = Clock::now();
    std::lock_guard<std::mutex> lock(profile_->mutex);
    profile_->whole.Add(Duration(start, end));
  }

  void RunNests(const std::vector<std::byte*>& buffers,
                absl::Span<const int64_t> statics) const {
    std::vector<Clock::time_point> times;
    times.reserve(code_.nests.size() + 1);
    times.push_back(Clock::now());
    for (const Nest& nest : code_.nests) {
      const TraceSpan span("nest", nest.name, "flops", nest.flops);
      nest.executable->Run(buffers, statics);
      times.push_back(Clock::now());
    }
    std::lock_guard<std::mutex> lock(profile_->mutex);
    int64_t together = 0;
    for (size_t k = 0; k < code_.nests.size(); ++k) {
      const int64_t time = Duration(times[k], times[k + 1]);
      profile_->nests[k].time.Add(time);
      together += time;
    }
    profile_->together.Add(together);
  }

  static int64_t Duration(Clock::time_point from, Clock::time_point to) {
    return std::max<int64_t>(0, Elapsed(from, to) - ClockCost());
  }

  // One thread at a time finds that of its last run without a lock.
  std::unique_ptr<Scratch> TakeScratch() const {
    std::unique_ptr<Scratch> scratch(
        last_.exchange(nullptr, std::memory_order_acquire));
    if (scratch != nullptr) return scratch;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!others_.empty()) {
        scratch = std::move(others_.back());
        others_.pop_back();
        return scratch;
      }
    }
    absl::StatusOr<DeviceMemory> arena =
        DeviceMemory::Allocate(std::max(code_.whole_layout.plan.arena_bytes,
                                        code_.nests_layout.plan.arena_bytes));
    CHECK_OK(arena);
    std::byte* const address = arena->address();
    return std::make_unique<Scratch>(
        Scratch{*std::move(arena), code_.whole_layout.Arenas(address),
                code_.nests_layout.Arenas(address)});
  }

  void Return(std::unique_ptr<Scratch> scratch) const {
    scratch.reset(last_.exchange(scratch.release(), std::memory_order_acq_rel));
    if (scratch == nullptr) return;
    std::lock_guard<std::mutex> lock(mutex_);
    others_.push_back(std::move(scratch));
  }

  const ProfiledCode code_;
  const std::shared_ptr<Team> team_;
  const std::shared_ptr<ProgramProfile> profile_;
  mutable std::atomic<int64_t> runs_ = 0;
  mutable std::atomic<int64_t> period_ = 2;  // the first runs alternate
  // That no run uses.
  mutable std::atomic<Scratch*> last_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> others_;
};

// The assignments of each nest of SplitNests: the comments of WithOrigins
// (cd/print.h) before it, or else those of the nest before.
std::vector<std::string> OriginsOf(const Block& body, size_t nests) {
  std::vector<std::string> origins;
  std::vector<std::string> comments;
  bool is_new = true;
  for (const Stmt& stmt : body.stmts) {
    if (origins.size() == nests) break;
    const auto* comment = std::get_if<loop_ir::Comment>(&stmt);
    if (comment == nullptr) {
      origins.push_back(absl::StrJoin(comments, "; "));
      is_new = true;
      continue;
    }
    // "7: y =: x"; others name the schedule, or a part of the routine.
    const size_t digits = comment->text.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string::npos ||
        comment->text[digits] != ':') {
      continue;
    }
    if (std::exchange(is_new, false)) comments.clear();
    comments.push_back(comment->text);
  }
  return origins;
}

int64_t ParallelIterations(const Block& nest) {
  const auto* loop = std::get_if<For>(&nest.stmts.front());
  const bool is_parallel = loop != nullptr && loop->kind == LoopKind::kPar;
  return is_parallel ? loop->extent : 0;
}

std::vector<NestProfile> NestsOf(const LoopProgram& program,
                                 const std::vector<Block>& nests, int threads) {
  const std::vector<std::string> origins =
      OriginsOf(program.body, nests.size());
  std::vector<NestProfile> profiles;
  bool was_parallel = false;
  for (size_t k = 0; k < nests.size(); ++k) {
    const int64_t iterations = ParallelIterations(nests[k]);
    const bool is_parallel = iterations > 0 && threads > 1;
    auto name = [&](std::string* text, BufferId id) {
      absl::StrAppend(text, program.buffers[id].name);
    };
    std::vector<BufferId> writes = EffectsOf(program, nests[k]).writes;
    std::erase_if(writes, [&](BufferId id) {
      return IsOfNest(program.buffers[id].role);
    });
    profiles.push_back(
        {.name = NestName(k),
         .writes = absl::StrJoin(writes, ", ", name),
         .origin = origins[k],
         .work = NestWorkOf(program, nests[k]),
         .threads = is_parallel ? static_cast<int>(
                                      std::min<int64_t>(threads, iterations))
                                : 1,
         // Adjacent nests of one thread share a function.
         .barriers = k > 0 && (is_parallel || was_parallel) ? 1 : 0});
    was_parallel = is_parallel;
  }
  return profiles;
}

}  // namespace

ProfilingBackend::ProfilingBackend(ProfiledTier tier, Profile* profile)
    : tier_(std::move(tier)),
      profile_(*profile),
      team_(tier_.threads > 1 ? std::make_shared<Team>(tier_.threads)
                              : nullptr) {
  CHECK(tier_.whole->memory().is_host() && tier_.nests->memory().is_host());
}

absl::StatusOr<std::unique_ptr<Executable>> ProfilingBackend::Compile(
    const LoopProgram& program) const {
  const LoopProgram scheduled =
      tier_.schedule ? tier_.schedule(program) : program;
  const std::vector<Block> nests = SplitNests(scheduled.body);
  ProfiledCode code;
  OCANNL_ASSIGN_OR_RETURN(code.whole, tier_.whole->Compile(program));
  OCANNL_ASSIGN_OR_RETURN(code.whole_layout, Layout::Of(program, program));
  OCANNL_ASSIGN_OR_RETURN(code.nests_layout, Layout::Of(program, scheduled));
  auto profile = std::make_shared<ProgramProfile>();
  profile->program = program.name;
  profile->tier = tier_.name;
  profile->nests = NestsOf(scheduled, nests, tier_.threads);
  LoopProgram part = FrameOfNests(scheduled);
  for (size_t k = 0; k < nests.size(); ++k) {
    const NestProfile& nest = profile->nests[k];
    part.name = absl::StrCat(program.name, ":", nest.name);
    part.body = nests[k];
    OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                            tier_.nests->Compile(part));
    code.nests.push_back({.name = part.name,
                          .flops = static_cast<int64_t>(nest.work.flops),
                          .executable = std::move(executable)});
  }
  profile_.Add(profile);
  return std::make_unique<ProfiledExecutable>(std::move(code), team_,
                                              std::move(profile));
}

}  // namespace ocannl
