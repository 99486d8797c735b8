// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/x86_backend.h"

#include <atomic>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/aligned_memory.h"
#include "ocannl/jit/assemble.h"

namespace ocannl::jit {
namespace {

// Where each private buffer is in a thread's scratch memory.
struct PrivatePlan {
  std::vector<std::pair<int32_t, size_t>> offsets;  // by buffer
  size_t bytes = 0;
};

PrivatePlan PlanPrivates(const LoopProgram& program) {
  PrivatePlan plan;
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    const Buffer& buffer = program.buffers[k];
    if (buffer.role != Role::kPrivate) continue;
    plan.offsets.emplace_back(static_cast<int32_t>(k), plan.bytes);
    const size_t bytes = NumElements(buffer.dims) * SizeOf(buffer.dtype);
    plan.bytes += (bytes + 63) / 64 * 64;
  }
  return plan;
}

// This thread's memory for private buffers; what was there is lost.
std::byte* Scratch(size_t bytes) {
  thread_local AlignedMemory memory;
  if (memory.size() < bytes) {
    absl::StatusOr<AlignedMemory> more = AlignedMemory::Allocate(bytes);
    CHECK(more.ok()) << more.status().message();
    memory = *std::move(more);
  }
  return memory.data();
}

class X86Executable : public Executable {
 public:
  X86Executable(MachineCode code, PrivatePlan privates,
                std::shared_ptr<Team> team)
      : code_(std::move(code)), privates_(std::move(privates)) {
    if (absl::c_any_of(code_.sections, [](const Section& section) {
          return section.iterations > 0;
        })) {
      team_ = std::move(team);
    }
  }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    if (team_ != nullptr && RunTogether(buffers, statics)) return;
    for (const Section& section : code_.sections) {
      section.function(buffers.data(), statics.data(), 0, section.iterations);
    }
  }

 private:
  bool RunTogether(absl::Span<std::byte* const> buffers,
                   absl::Span<const int64_t> statics) const {
    std::vector<std::atomic<int64_t>> claimed(code_.sections.size());
    return team_->TryRun([&](int member) {
      std::vector<std::byte*> own(buffers.begin(), buffers.end());
      std::byte* scratch = Scratch(privates_.bytes);
      for (auto [buffer, offset] : privates_.offsets) {
        own[buffer] = scratch + offset;
      }
      for (size_t k = 0; k < code_.sections.size(); ++k) {
        if (k > 0) team_->Wait();
        const Section& section = code_.sections[k];
        if (section.iterations == 0) {
          if (member == 0) section.function(own.data(), statics.data(), 0, 0);
          continue;
        }
        for (int64_t next; (next = claimed[k]++) < section.iterations;) {
          section.function(own.data(), statics.data(), next, next + 1);
        }
      }
    });
  }

  MachineCode code_;
  PrivatePlan privates_;
  std::shared_ptr<Team> team_;
};

}  // namespace

X86Backend::X86Backend(Isa isa, int threads) : isa_(isa) {
  CHECK(IsSupported(isa)) << Name(isa);
  if (threads > 1) team_ = std::make_shared<Team>(threads);
}

LoopProgram X86Backend::Scheduled(const LoopProgram& program) const {
  return program;
}

absl::StatusOr<std::unique_ptr<Executable>> X86Backend::Compile(
    const LoopProgram& program) const {
  LoopProgram scheduled = Scheduled(program);
  PrivatePlan privates = PlanPrivates(scheduled);
  OCANNL_ASSIGN_OR_RETURN(MachineCode code, Assemble(std::move(scheduled), isa_,
                                                     /*with_listing=*/false));
  return std::make_unique<X86Executable>(std::move(code), std::move(privates),
                                         team_);
}

absl::StatusOr<std::string> X86Backend::Listing(
    const LoopProgram& program) const {
  OCANNL_ASSIGN_OR_RETURN(MachineCode code, Assemble(Scheduled(program), isa_,
                                                     /*with_listing=*/true));
  return std::move(code.listing);
}

}  // namespace ocannl::jit
