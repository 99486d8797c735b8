// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/x86_backend.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/base/wanted_debug_symbols.h"
#include "ocannl/core/loop/canonical_text.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/core/tiering/compile_nests.h"
#include "ocannl/jit/assemble.h"
#include "ocannl/jit/machine_code.h"
#include "ocannl/jit/memory_plan.h"
#include "ocannl/jit/vcode/passes/pipeline.h"

namespace ocannl::jit {
namespace {

// This thread's scratch memory, null if there is not enough; what was there is
// lost.
std::byte* TryScratch(size_t bytes) {
  thread_local DeviceMemory memory;
  if (memory.size() < bytes) {
    absl::StatusOr<DeviceMemory> more = DeviceMemory::Allocate(bytes);
    if (!more.ok()) return nullptr;
    memory = *std::move(more);
  }
  return memory.address();
}

std::byte* Scratch(size_t bytes) {
  std::byte* scratch = TryScratch(bytes);
  if (scratch == nullptr) throw std::bad_alloc();
  return scratch;
}

// What an executable tells of its nests: nothing.
struct Untraced {
  static constexpr bool kTells = false;
  explicit Untraced(absl::string_view = "") {}
  struct Span {
    Span(const Untraced&, int64_t) {}
  };
};

// Or when each thread ran each of them.
struct TracedNests {
  static constexpr bool kTells = true;
  explicit TracedNests(absl::string_view name) : program(name) {}
  struct Span : TraceSpan {
    Span(const TracedNests& nests, int64_t nest)
        : TraceSpan("nest", absl::StrCat(nests.program, ":", NestName(nest))) {}
  };
  std::string program;
};

template <class Nests>
class X86Executable : public Executable {
 public:
  X86Executable(absl::string_view name, MachineCode code, MemoryPlan plan,
                std::shared_ptr<Team> team)
      : code_(std::move(code)), plan_(std::move(plan)), nests_(name) {
    for (const MachineCode::Section& section : code_.sections) {
      is_parallel_ |= section.iterations > 0;
    }
    if (is_parallel_) team_ = std::move(team);
    const bool is_alone = !is_parallel_ && plan_.is_callers;
    if (is_alone && code_.sections.size() == 1 && !Nests::kTells) {
      only_ = &code_.sections[0];
    }
  }

  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    if (only_ != nullptr) {
      return only_->function(buffers.data(), statics.data(), 0, 0);
    }
    Team* const team = TeamNow();
    if (team == nullptr && plan_.is_callers) {
      return RunAlone(nests_, buffers.data(), statics);
    }
    std::byte** all = Prepare(buffers);
    if (team != nullptr && RunTogether(*team, all, statics)) return;
    RunAlone(nests_, all, statics);
  }

  void Repeat(absl::Span<std::byte* const> buffers, absl::Span<int64_t> statics,
              absl::Span<const int64_t> steps, int64_t count) const override {
    if (TeamNow() != nullptr) {
      return Executable::Repeat(buffers, statics, steps, count);
    }
    std::byte* const* all =
        plan_.is_callers ? buffers.data() : Prepare(buffers);
    for (int64_t run = 0; run < count; ++run) {
      if (Nests::kTells && run == 0) {  // what the others do, too
        RunAlone(nests_, all, statics);
      } else {
        RunAlone(Untraced(), all, statics);
      }
      for (size_t k = 0; k < statics.size(); ++k) statics[k] += steps[k];
    }
  }

 private:
  Team* TeamNow() const {
    if (!is_parallel_) return nullptr;
    return Team::Current() != nullptr ? Team::Current() : team_.get();
  }

  // The addresses of all buffers, in this thread's scratch memory.
  std::byte** Prepare(absl::Span<std::byte* const> buffers) const {
    std::byte* scratch = Scratch(plan_.bytes);
    std::byte** all = Pointers(scratch);
    for (auto [buffer, at] : plan_.callers) all[buffer] = buffers[at];
    BindTo(scratch, plan_.temps, all);
    BindTo(scratch, plan_.privates, all);
    return all;
  }

  // Those of another member of the team, with private buffers of its own; null
  // if it has no memory for them.
  std::byte** PrepareMember(std::byte** callers) const {
    std::byte* scratch = TryScratch(plan_.bytes);
    if (scratch == nullptr) return nullptr;
    std::byte** own = Pointers(scratch);
    std::copy_n(callers, plan_.num_buffers, own);
    BindTo(scratch, plan_.privates, own);
    return own;
  }

  template <class Told>
  void RunAlone(const Told& told, std::byte* const* all,
                absl::Span<const int64_t> statics) const {
    for (size_t k = 0; k < code_.sections.size(); ++k) {
      const MachineCode::Section& section = code_.sections[k];
      const typename Told::Span span(told, section.nest);
      section.function(all, statics.data(), 0, section.iterations);
    }
  }

  std::byte** Pointers(std::byte* scratch) const {
    return reinterpret_cast<std::byte**>(scratch + plan_.pointers);
  }

  static void BindTo(std::byte* scratch,
                     const std::vector<MemoryPlan::Binding>& bindings,
                     std::byte** pointers) {
    for (auto [buffer, at] : bindings) pointers[buffer] = scratch + at;
  }

  bool RunTogether(Team& team, std::byte** callers,
                   absl::Span<const int64_t> statics) const {
    absl::FixedArray<std::atomic<int64_t>, 64> claimed(code_.sections.size() *
                                                       team.size());
    return team.TryRun([&](int member) {
      std::byte** own = callers;
      if (member > 0) {
        own = PrepareMember(callers);
      }
      for (size_t k = 0; k < code_.sections.size(); ++k) {
        if (k > 0) team.Wait();
        if (own == nullptr) continue;  // The others do its share.
        const MachineCode::Section& section = code_.sections[k];
        const typename Nests::Span span(nests_, section.nest);
        if (section.iterations > 0) {
          RunClaimed(
              section, own, statics, member,
              absl::MakeSpan(claimed).subspan(k * team.size(), team.size()));
        } else if (member == 0) {
          section.function(own, statics.data(), 0, 0);
        }
      }
    });
  }

  // Affinity scheduling (Markatos and LeBlanc 1992): each member has a part of
  // the iterations, the same in nests of as many, as its cache holds what it
  // computed in the last one. It claims chunks of that, then of what others
  // have left. `claimed` counts those of each part.
  void RunClaimed(const MachineCode::Section& section, std::byte** buffers,
                  absl::Span<const int64_t> statics, int member,
                  absl::Span<std::atomic<int64_t>> claimed) const {
    const auto size = static_cast<int64_t>(claimed.size());
    const int64_t grain = std::max<int64_t>(1, section.iterations / (8 * size));
    for (int64_t k = 0; k < size; ++k) {
      const int64_t part = (member + k) % size;
      const int64_t begin = section.iterations * part / size;
      const int64_t end = section.iterations * (part + 1) / size;
      while (true) {
        const int64_t lo =
            begin + claimed[part].fetch_add(grain, std::memory_order_relaxed);
        if (lo >= end) break;
        section.function(buffers, statics.data(), lo,
                         std::min(lo + grain, end));
      }
    }
  }

  MachineCode code_;
  MemoryPlan plan_;
  std::shared_ptr<Team> team_;  // null: nothing for one, or one thread
  bool is_parallel_ = false;    // has loops for a team
  [[no_unique_address]] const Nests nests_;
  // All that there is to call, with the caller's buffers; else null.
  const MachineCode::Section* only_ = nullptr;
};

}  // namespace

std::vector<std::string> CodePasses() {
  std::vector<std::string> names;
  for (absl::string_view pass : SchedulePasses()) names.emplace_back(pass);
  for (const VcodePass& pass : VcodePasses()) {
    if (pass.is_optional) names.emplace_back(pass.name);
  }
  return names;
}

LoopProgram ScheduleFor(const LoopProgram& program, Isa isa,
                        ScheduleOptions options) {
  options.legality = rewrite::Legality::kTrust;
  LoopProgram scheduled = Schedule(program, TargetOf(isa), options);
  if (options.refused != nullptr) AddComments(*options.refused, scheduled);
  std::vector<Stmt>& stmts = scheduled.body.stmts;
  stmts.insert(stmts.begin(),
               Comment{absl::StrCat("scheduled for ", Name(isa))});
  return scheduled;
}

X86Backend::X86Backend(Isa isa, X86Options options)
    : isa_(isa), options_(std::move(options)) {
  CHECK(IsSupported(isa)) << Name(isa);
  if (options_.threads > 1) team_ = std::make_shared<Team>(options_.threads);
}

void X86Backend::Note(const LoopProgram& program,
                      const std::string& line) const {
  CHECK(!AreRefusalsFatal() || options_.fault) << program.name << ": " << line;
  std::lock_guard<std::mutex> lock(mutex_);
  std::string text = absl::StrCat(program.name, ": ", line, "\n");
  if (!absl::c_linear_search(refused_, text)) refused_.push_back(text);
}

absl::StatusOr<CompiledProgram> X86Backend::CompileNew(
    const LoopProgram& program, std::vector<Refusal>& refused) const {
  CompiledProgram compiled;
  LoopProgram scheduled = [&] {
    const TraceSpan span("schedule", program.name);
    if (!options_.schedules) return program;
    return ScheduleFor(
        program, isa_,
        {.skip = options_.skip, .refused = &refused, .fault = options_.fault});
  }();
  OCANNL_RETURN_IF_ERROR(CheckNotCancelled());
  for (const Refusal& refusal : refused) Note(program, Text(refusal));
  if (options_.fault) {
    OCANNL_RETURN_IF_ERROR(options_.fault("assemble", scheduled));
  }
  OCANNL_ASSIGN_OR_RETURN(compiled.plan, PlanMemory(program, scheduled));
  const TraceSpan span("assemble", program.name);
  OCANNL_ASSIGN_OR_RETURN(compiled.image, Assemble(std::move(scheduled), isa_,
                                                   WantsGdb(), options_.skip));
  KeepOnly(compiled.image.buffers, compiled.plan);
  return compiled;
}

absl::StatusOr<CompiledProgram> X86Backend::FindOrCompile(
    const LoopProgram& program) const {
  std::vector<Refusal> refused;
  // The cache has no lines for debuggers, and code of all passes only.
  if (options_.cache == nullptr || WantsGdb() || !options_.skip.empty()) {
    return CompileNew(program, refused);
  }
  const std::string key =
      absl::StrCat(Name(isa_), options_.schedules ? ", scheduled\n" : "\n",
                   CanonicalText(program));
  if (std::optional<std::string> code = options_.cache->Find(key)) {
    if (std::optional<CompiledProgram> found = FromBytes(*code)) {
      return *std::move(found);
    }
  }
  absl::StatusOr<CompiledProgram> compiled = CompileNew(program, refused);
  // The next process is to report refusals, too.
  if (compiled.ok() && refused.empty()) {
    options_.cache->Insert(key, ToBytes(*compiled));
  }
  return compiled;
}

absl::StatusOr<std::unique_ptr<Executable>> X86Backend::Compile(
    const LoopProgram& program) const {
  absl::StatusOr<std::unique_ptr<Executable>> code = CompileWhole(program);
  if (!absl::IsInternal(code.status()) || options_.interpreter == nullptr) {
    return code;
  }
  std::vector<std::string> interpreted;
  code = CompileNests(
      program, [&](const LoopProgram& part) { return CompileWhole(part); },
      *options_.interpreter, interpreted);
  for (const std::string& line : interpreted) Note(program, line);
  return code;
}

absl::StatusOr<std::unique_ptr<Executable>> X86Backend::CompileWhole(
    const LoopProgram& program) const {
  OCANNL_ASSIGN_OR_RETURN(CompiledProgram compiled, FindOrCompile(program));
  OCANNL_ASSIGN_OR_RETURN(MachineCode code, Load(compiled.image, program.name));
  if (TraceEvents::IsOn()) {
    return std::make_unique<X86Executable<TracedNests>>(
        program.name, std::move(code), std::move(compiled.plan), team_);
  }
  return std::make_unique<X86Executable<Untraced>>(
      program.name, std::move(code), std::move(compiled.plan), team_);
}

std::string X86Backend::Report() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return absl::StrCat(options_.cache == nullptr ? "" : options_.cache->Report(),
                      absl::StrJoin(refused_, ""));
}

}  // namespace ocannl::jit
