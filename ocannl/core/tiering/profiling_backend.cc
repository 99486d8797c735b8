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

  std::vector<std::byte*> Bind(absl::Span<std::byte* const> given,
                               std::byte* arena) const {
    std::vector<std::byte*> all(plan.offsets.size(), nullptr);
    for (BufferId k : plan.offsets.ids()) {
      if (plan.offsets[k] >= 0) all[k.index] = arena + plan.offsets[k];
    }
    for (auto [buffer, argument] : callers) {
      all[buffer.index] = given[argument.index];
    }
    return all;
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

  // Whole runs and runs of nests may have different temps.
  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    // Both share one team: two would take processors from each other.
    const Team::Scope scope(Team::Current() == nullptr ? team_.get() : nullptr);
    const bool is_whole =
        IsWhole(runs_.fetch_add(1, std::memory_order_relaxed));
    DeviceMemory arena = TakeArena();
    if (is_whole) {
      RunWhole(code_.whole_layout.Bind(buffers, arena.address()), statics);
    } else {
      RunNests(code_.nests_layout.Bind(buffers, arena.address()), statics);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    arenas_.push_back(std::move(arena));
  }

 private:
  // Runs nest by nest are slower: once there are enough of them, they are rare.
  static bool IsWhole(int64_t run) {
    constexpr int64_t kAlternating = 64;
    return run < kAlternating ? run % 2 == 1 : run % 8 != 0;
  }

  void RunWhole(const std::vector<std::byte*>& buffers,
                absl::Span<const int64_t> statics) const {
    const Clock::time_point start = Clock::now();
    code_.whole->Run(buffers, statics);
    const Clock::time_point end = Clock::now();
    std::lock_guard<std::mutex> lock(profile_->mutex);
    profile_->whole.Add(Elapsed(start, end));
  }

  void RunNests(const std::vector<std::byte*>& buffers,
                absl::Span<const int64_t> statics) const {
    std::vector<Clock::time_point> times = {Clock::now()};
    times.reserve(code_.nests.size() + 1);
    for (const Nest& nest : code_.nests) {
      const TraceSpan span("nest", nest.name, "flops", nest.flops);
      nest.executable->Run(buffers, statics);
      times.push_back(Clock::now());
    }
    std::lock_guard<std::mutex> lock(profile_->mutex);
    profile_->together.Add(Elapsed(times.front(), times.back()));
    for (size_t k = 0; k < code_.nests.size(); ++k) {
      profile_->nests[k].time.Add(Elapsed(times[k], times[k + 1]));
    }
  }

  DeviceMemory TakeArena() const {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!arenas_.empty()) {
        DeviceMemory arena = std::move(arenas_.back());
        arenas_.pop_back();
        return arena;
      }
    }
    absl::StatusOr<DeviceMemory> arena =
        DeviceMemory::Allocate(std::max(code_.whole_layout.plan.arena_bytes,
                                        code_.nests_layout.plan.arena_bytes));
    CHECK_OK(arena);
    return *std::move(arena);
  }

  const ProfiledCode code_;
  const std::shared_ptr<Team> team_;
  const std::shared_ptr<ProgramProfile> profile_;
  mutable std::atomic<int64_t> runs_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<DeviceMemory> arenas_;  // that no run uses
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
