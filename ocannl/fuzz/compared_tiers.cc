// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/compared_tiers.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/gpu/one_block.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/cuda/cuda_backend.h"
#include "ocannl/cuda/driver.h"
#include "ocannl/cuda/nvrtc.h"
#include "ocannl/emulation/emulated_cuda.h"
#include "ocannl/fuzz/hidden_memory.h"
#include "ocannl/fuzz/random_rewrites.h"
#include "ocannl/fuzz/rewriting_backend.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/interp/tree_backend.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl::fuzz {
namespace {

using jit::Isa;
using jit::IsSupported;

// That which every machine has that has any.
constexpr Isa kFirst = jit::kIsas[0];

// The best one has threads.
constexpr int ThreadsOf(Isa isa) {
  return isa == *std::rbegin(jit::kIsas) ? 3 : 1;
}

const Backend* Interp() {
  static const auto* backend = new interp::InterpBackend();
  return backend;
}

const Backend* Tree() {
  static const auto* backend = new interp::TreeBackend();
  return backend;
}

LoopProgram OptimizeAll(LoopProgram program) {
  auto optimized = Optimize(std::move(program), PassOptions());
  CHECK_OK(optimized);
  return *std::move(optimized);
}

const Backend* Optimized() {
  static const auto* backend =
      new RewritingBackend("optimize", OptimizeAll, Interp());
  return backend;
}

// As if every temp were to be inlined, whatever that costs.
const Backend* Inlined() {
  auto inlined = [](LoopProgram program) {
    for (Buffer& buffer : program.buffers) {
      if (buffer.role == Role::kTemp) buffer.role = Role::kVirtual;
    }
    return OptimizeAll(std::move(program));
  };
  static const auto* backend =
      new RewritingBackend("inline", inlined, Interp());
  return backend;
}

template <Isa isa>
const Backend* Scheduled() {
  auto schedule = [](LoopProgram program) {
    return Schedule(std::move(program), TargetOf(isa));
  };
  static const auto* backend =
      new RewritingBackend("schedule", schedule, Interp());
  return backend;
}

template <const gpu::GpuTarget& target>
const Backend* ScheduledGpu() {
  auto schedule = [](LoopProgram program) {
    LoopProgram scheduled = gpu::ScheduleGpu(std::move(program), target);
    CHECK_OK(gpu::VerifyKernels(scheduled));
    return scheduled;
  };
  static const auto* backend =
      new RewritingBackend("schedule-gpu", schedule, Interp());
  return backend;
}

// As one block, where there is room for it.
const Backend* OneBlock() {
  auto schedule = [](LoopProgram program) {
    gpu::GpuTarget target = gpu::kMiddleGpu;
    target.shared_bytes = gpu::kMaxSharedBytes;
    auto block = gpu::ScheduleOneBlock(program, target);
    if (absl::IsResourceExhausted(block.status())) return program;
    CHECK_OK(block);
    return *std::move(block);
  };
  static const auto* backend =
      new RewritingBackend("schedule-gpu-one-block", schedule, Interp());
  return backend;
}

const Backend* HiddenMemory() {
  static const auto* backend = new HiddenMemoryBackend();
  return backend;
}

// Machine code; unless it `schedules`, for programs as they are.
template <Isa isa, int threads, bool schedules>
const Backend* X86() {
  static const auto* backend =
      new jit::X86Backend(isa, {.threads = threads, .schedules = schedules});
  return backend;
}

// The GPU of this machine.
template <bool schedules>
const Backend* Cuda() {
  static const auto* backend = [] {
    auto opened = cuda::CudaBackend::Open({.schedules = schedules});
    CHECK_OK(opened);
    return opened->release();
  }();
  return backend;
}

// Machine code of the plans for small caches.
const Backend* SmallCaches() {
  auto schedule = [](LoopProgram program) {
    return Schedule(std::move(program), kSmallCachesTarget);
  };
  static const auto* backend = new RewritingBackend(
      "x86-small-caches", schedule, X86<kFirst, 3, false>());
  return backend;
}

LoopProgram Handmade(LoopProgram program) {
  return RewriteAtRandom(std::move(program)).program;
}

// Schedules by hand, on the interpreter and as machine code.
const Backend* Rewritten() {
  static const auto* backend =
      new RewritingBackend("rewrite", Handmade, Interp());
  return backend;
}

const Backend* JitRewritten() {
  static const auto* backend =
      new RewritingBackend("jit-rewrite", Handmade, X86<kFirst, 3, false>());
  return backend;
}

std::vector<ComparedTier> TiersOfGpus() {
  // Only starting the driver would tell whether there is a GPU, and processes
  // that fork then have none.
  const bool gpu = cuda::FindDriver().ok() && cuda::Nvrtc::Open().ok();
  return {{"cuda-emulated", true,
           [] { return &emulation::EmulatedScheduledCuda(); },
           /*is_slow=*/true},
          {"cuda-as-is", gpu, Cuda<false>, /*is_slow=*/true},
          {"cuda", gpu, Cuda<true>, /*is_slow=*/true}};
}

}  // namespace

absl::Span<const ComparedTier> ComparedTiers() {
  const bool x86 = IsSupported(kFirst);
  static const auto* tiers = new std::vector<ComparedTier>{
      {"interp", true, Interp},  // itself, between guard pages
      {"tree", true, Tree, /*is_slow=*/true},
      {"hidden-memory", true, HiddenMemory},
      {"optimize", true, Optimized},
      {"inline", true, Inlined},
#define ISA(name, text, ...) {"schedule-" text, true, Scheduled<Isa::k##name>},
#include "ocannl/jit/vcode/isas.def"
      {"schedule-gpu-tiny", true, ScheduledGpu<gpu::kTinyGpu>},
      {"schedule-gpu-middle", true, ScheduledGpu<gpu::kMiddleGpu>},
      {"schedule-gpu", true, ScheduledGpu<gpu::kSm90>},
      {"schedule-gpu-one-block", true, OneBlock},
#define ISA(name, text, ...) \
  {"jit-" text, IsSupported(Isa::k##name), X86<Isa::k##name, 1, false>},
#include "ocannl/jit/vcode/isas.def"
      {"rewrite", true, Rewritten},
      {"jit-rewrite", x86, JitRewritten},
      {"jit-threads", x86, X86<kFirst, 3, false>},
#define ISA(name, text, ...)               \
  {"x86-" text, IsSupported(Isa::k##name), \
   X86<Isa::k##name, ThreadsOf(Isa::k##name), true>},
#include "ocannl/jit/vcode/isas.def"
      {"x86-small-caches", x86, SmallCaches},
  };
  return *tiers;
}

absl::StatusOr<std::vector<ComparedTier>> FindComparedTiers(
    absl::Span<const std::string> names) {
  std::vector<ComparedTier> all = TiersOfGpus();
  absl::c_copy(ComparedTiers(), std::back_inserter(all));
  std::vector<ComparedTier> found;
  for (const std::string& name : names) {
    if (name == "all") {
      absl::c_copy(ComparedTiers(), std::back_inserter(found));
      continue;
    }
    auto tier = absl::c_find_if(
        all, [&](const ComparedTier& one) { return one.name == name; });
    if (tier == all.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no tier ", name, " to compare; there are ",
          absl::StrJoin(all, ", ",
                        [](std::string* out, const ComparedTier& one) {
                          absl::StrAppend(out, one.name);
                        }),
          " and all"));
    }
    found.push_back(*tier);
  }
  if (found.empty()) {
    return absl::InvalidArgumentError(
        "--tiers= names no tier to compare; give `all`, or some with commas "
        "between");
  }
  if (absl::c_any_of(found, [](const auto& one) { return one.available; })) {
    return found;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("this machine lacks ", absl::StrJoin(names, ", "),
                   "; name other tiers to compare"));
}

}  // namespace ocannl::fuzz
