// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/cuda_backend.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/plan_buffers.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/schedule/gpu/one_block.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/cuda/call_order.h"
#include "ocannl/cuda/calls_in_queue.h"
#include "ocannl/cuda/gpu.h"
#include "ocannl/cuda/kernel_text.h"
#include "ocannl/cuda/nvrtc.h"
#include "ocannl/cuda/persistent_kernel.h"

namespace ocannl::cuda {
namespace {

// Functions that are compiled as one text, beside others: NVRTC takes 20 ms for
// a text of none and 2 to 100 ms for each function (`explain --stage=ptx` of
// one kernel and of many).
constexpr size_t kFunctionsOfModule = 16;

// Statements that one block runs while a graph starts a kernel, about 1.5 us:
// it runs a few in a cycle. No GPU has measured it.
constexpr double kRunsOfKernel = 20'000;

// Kernels that become one: its compilation takes longer than in proportion,
// 0.6 s for 20 of small layers, 1.5 s for 80 and 12 s for 240 (`nvcc -cubin` of
// `explain --stage=persistent`).
constexpr size_t kMostPhases = 64;

}  // namespace

// What executables share. Runs hold the mutex while they are submitted.
struct CudaBackend::State {
  explicit State(CudaOptions given) : options(std::move(given)) {}

  absl::StatusOr<LoopProgram> Scheduled(const LoopProgram& program) {
    // Kernels that somebody wrote keep what the planner's do.
    if (absl::c_any_of(program.body.stmts, [](const Stmt& stmt) {
          const For* loop = std::get_if<For>(&stmt);
          return loop != nullptr && loop->kind == LoopKind::kGrid;
        })) {
      OCANNL_RETURN_IF_ERROR(gpu::VerifyKernels(program));
    }
    if (!options.schedules) return gpu::Demoted(program);
    std::vector<Refusal> now;
    LoopProgram scheduled =
        gpu::ScheduleGpu(program, Target(), {.refused = &now});
    std::lock_guard<std::mutex> lock(mutex);
    for (const Refusal& refusal : now) {
      absl::StrAppend(&refused, program.name, ": ", Text(refusal), "\n");
      CHECK(!AreRefusalsFatal()) << refused;
    }
    return scheduled;
  }

  gpu::GpuTarget Target() const {
    if (options.target != nullptr) return *options.target;
    gpu::GpuTarget target = gpu::kSm90;
    target.multiprocessors = gpu->multiprocessors();
    target.shared_bytes = gpu->max_shared_bytes();
    return target;
  }

  // Machine code; `name` is in errors.
  absl::StatusOr<std::string> CodeOf(const std::string& text,
                                     const std::string& name) const {
    CodeCache* const cache = options.cache.get();
    const std::string key =
        absl::StrCat(compiler_id, ", ", gpu->architecture(), "\n", text);
    if (cache != nullptr) {
      if (std::optional<std::string> code = cache->Find(key)) return *code;
    }
    OCANNL_ASSIGN_OR_RETURN(std::string code,
                            compiler(text, name, gpu->architecture()));
    if (cache != nullptr) cache->Insert(key, code);
    return code;
  }

  const CudaOptions options;
  Compiler compiler;
  std::string compiler_id;
  std::unique_ptr<const Gpu> gpu;
  NcclFinder find_nccl;
  mutable std::mutex mutex;  // guards the rest
  std::unique_ptr<const NcclNetwork> network;
  int64_t kernels = 0, serial_kernels = 0, graphs = 0, persistent = 0;
  std::string refused;  // lines of Report
};

class CudaBackend::CudaExecutable : public Executable {
 public:
  CudaExecutable(LoopProgram program, State* state)
      : state_(*state),
        program_(std::move(program)),
        num_statics_(program_.statics.size()) {}

  // Error: as of Compile.
  absl::Status Load(const LoopProgram& program, KernelText text,
                    absl::Span<const std::string> modules) {
    std::vector<Kernel>& kernels = text.kernels;
    OCANNL_ASSIGN_OR_RETURN(plan_, PlanBuffers(program));
    for (const std::string& code : modules) {
      OCANNL_ASSIGN_OR_RETURN(modules_.emplace_back(), gpu().Load(code));
    }
    const auto order = CallOrder(program, kernels, plan_);
    for (size_t k = 0; k < kernels.size(); ++k) {
      OCANNL_ASSIGN_OR_RETURN(
          calls_.emplace_back(),
          CallOf(text, kernels[k],
                 kernels[k].buffers.size() + (num_statics_ > 0)));
      calls_.back().after = order[k];
    }
    if (text.advance) OCANNL_RETURN_IF_ERROR(AddAdvance(text));
    kernels_ = std::move(kernels);
    return absl::OkStatus();
  }

  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    const std::vector<int64_t> steps(num_statics_, 0);
    std::vector<int64_t> values(statics.begin(), statics.end());
    Repeat(buffers, absl::MakeSpan(values), steps, 1);
  }

  void Repeat(absl::Span<std::byte* const> buffers, absl::Span<int64_t> statics,
              absl::Span<const int64_t> steps, int64_t count) const override {
    std::lock_guard<std::mutex> lock(state_.mutex);
    // What other runs left means nothing after an error.
    if (!gpu().status().ok()) return;
    gpu().Note(TryRepeat(buffers, statics, steps, count));
    for (size_t k = 0; k < num_statics_; ++k) statics[k] += steps[k] * count;
  }

 private:
  const Gpu& gpu() const { return *state_.gpu; }

  // A call of a kernel of the text.
  absl::StatusOr<KernelCall> CallOf(const KernelText& text,
                                    const Kernel& kernel,
                                    size_t arguments) const {
    return modules_[kernel.function / kFunctionsOfModule]->Call(
        kernel, text.functions[kernel.function].name, arguments);
  }

  // The last call, when all others are done: the next value of static indices.
  absl::Status AddAdvance(const KernelText& text) {
    std::vector<bool> is_waited_for(calls_.size(), false);
    for (const KernelCall& call : calls_) {
      for (size_t other : call.after) is_waited_for[other] = true;
    }
    const Kernel kernel{
        .function = *text.advance, .buffers = {}, .written = {}};
    OCANNL_ASSIGN_OR_RETURN(KernelCall call, CallOf(text, kernel, 1));
    for (size_t k = 0; k < is_waited_for.size(); ++k) {
      if (!is_waited_for[k]) call.after.push_back(k);
    }
    calls_.push_back(std::move(call));
    return absl::OkStatus();
  }

  // What a queue has of it.
  struct InQueue {
    std::weak_ptr<const GpuQueue> queue;
    CallsInQueue calls;
    bool is_hot = false;  // and whether `persistent` was made, decided
    std::unique_ptr<PersistentKernel> persistent = nullptr;
  };

  absl::StatusOr<InQueue*> In(const GpuQueue& queue) const {
    auto found = in_queues_.find(&queue);
    // Another one may have been where the queue is.
    if (found == in_queues_.end() || found->second.queue.expired()) {
      std::erase_if(in_queues_, [](const auto& entry) {
        return entry.second.queue.expired();
      });
      OCANNL_ASSIGN_OR_RETURN(CallsInQueue calls,
                              CallsInQueue::Make(gpu(), calls_, num_statics_));
      found = in_queues_
                  .emplace(&queue, InQueue{.queue = queue.weak_from_this(),
                                           .calls = std::move(calls)})
                  .first;
    }
    return &found->second;
  }

  absl::Status TryRepeat(absl::Span<std::byte* const> buffers,
                         absl::Span<const int64_t> statics,
                         absl::Span<const int64_t> steps, int64_t count) const {
    runs_ += count;
    GpuQueue& queue = gpu().CurrentQueue();
    OCANNL_ASSIGN_OR_RETURN(InQueue* const in, In(queue));
    MakePersistentIfHot(*in);
    if (in->persistent != nullptr && count > 1) {
      OCANNL_ASSIGN_OR_RETURN(std::byte * scratch,
                              queue.Scratch(in->persistent->arena_bytes()));
      return in->persistent->Run(buffers, scratch, statics, steps, count);
    }
    OCANNL_ASSIGN_OR_RETURN(
        std::byte * scratch,
        queue.Scratch(static_cast<size_t>(plan_.arena_bytes)));
    CallsInQueue::Addresses addresses;
    for (BufferId id : plan_.offsets.ids()) {
      const int64_t offset = plan_.offsets[id];
      addresses.push_back(offset >= 0 ? scratch + offset : buffers[id.index]);
    }
    const int64_t graphs = in->calls.graphs();
    absl::Status status =
        in->calls.Repeat(kernels_, addresses, statics, steps, count);
    state_.graphs += in->calls.graphs() - graphs;
    return status;
  }

  // One for all runs, when there were enough to wait for its compilation; none:
  // not yet, or the program is too large for a block, or it was refused as no
  // single kernel of it is: the others go on.
  void MakePersistentIfHot(InQueue& in) const {
    if (runs_ < state_.options.runs_before_persistent ||
        std::exchange(in.is_hot, true) || !IsSmall()) {
      return;
    }
    auto made = MakePersistent();
    if (!made.ok()) return;
    in.persistent = *std::move(made);
    ++state_.persistent;
  }

  bool IsSmall() const {
    return state_.options.schedules && !calls_.empty() &&
           calls_.size() <= kMostPhases &&
           gpu::CountRuns(program_, program_.body) <=
               kRunsOfKernel * static_cast<double>(calls_.size());
  }

  absl::StatusOr<std::unique_ptr<PersistentKernel>> MakePersistent() const {
    OCANNL_ASSIGN_OR_RETURN(const LoopProgram block,
                            gpu::ScheduleOneBlock(program_, state_.Target()));
    return PersistentKernel::Make(
        block, gpu(), state_.options.runs_of_launch,
        [&](const std::string& text) { return PersistentCode(text); });
  }

  // Of one text; all queues have the same.
  absl::StatusOr<std::string> PersistentCode(const std::string& text) const {
    if (persistent_code_.empty()) {
      OCANNL_ASSIGN_OR_RETURN(persistent_code_,
                              state_.CodeOf(text, program_.name));
    }
    return persistent_code_;
  }

  State& state_;
  const LoopProgram program_;  // as it was before it was scheduled
  const size_t num_statics_;
  BufferPlan plan_;
  // Each has the next kFunctionsOfModule functions.
  std::vector<std::unique_ptr<const Module>> modules_;
  std::vector<Kernel> kernels_;
  std::vector<KernelCall> calls_;  // of the kernels, and of `advance`
  // The state's mutex guards these.
  mutable std::map<const GpuQueue*, InQueue> in_queues_;
  mutable int64_t runs_ = 0;
  mutable std::string persistent_code_;
};

absl::StatusOr<std::unique_ptr<const CudaBackend>> CudaBackend::Open(
    CudaOptions options) {
  OCANNL_ASSIGN_OR_RETURN(DriverFunctions driver, FindDriver());
  OCANNL_ASSIGN_OR_RETURN(const Nvrtc nvrtc, Nvrtc::Open(options.cuda_home));
  const auto [major, minor] = nvrtc.version();
  return Open(
      std::move(options), std::move(driver),
      [nvrtc](const std::string& text, const std::string& name,
              const std::string& architecture) -> absl::StatusOr<std::string> {
        OCANNL_ASSIGN_OR_RETURN(Nvrtc::Code code,
                                nvrtc.Compile(text, name, architecture));
        return std::move(code.cubin);
      },
      absl::StrCat("NVRTC ", major, ".", minor), FindNccl);
}

absl::StatusOr<std::unique_ptr<const CudaBackend>> CudaBackend::Open(
    CudaOptions options, DriverFunctions driver, Compiler compiler,
    std::string compiler_id, NcclFinder find_nccl) {
  auto state = std::make_unique<State>(std::move(options));
  OCANNL_ASSIGN_OR_RETURN(state->gpu,
                          Gpu::Open(std::move(driver), state->options.device));
  state->compiler = std::move(compiler);
  state->compiler_id = std::move(compiler_id);
  state->find_nccl = std::move(find_nccl);
  return absl::WrapUnique(new CudaBackend(std::move(state)));
}

CudaBackend::CudaBackend(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
CudaBackend::~CudaBackend() = default;

absl::string_view CudaBackend::name() const { return state_->gpu->name(); }
std::string CudaBackend::device() const {
  return absl::StrCat(state_->gpu->model(), " (", state_->gpu->architecture(),
                      ")");
}
const MemorySpace& CudaBackend::memory() const { return *state_->gpu; }
std::shared_ptr<DeviceQueue> CudaBackend::MakeQueue() const {
  return state_->gpu->MakeQueue();
}

const DeviceNetwork* CudaBackend::network() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  if (const auto find = std::exchange(state_->find_nccl, nullptr)) {
    if (absl::StatusOr<NcclFunctions> nccl = find(); nccl.ok()) {
      state_->network =
          std::make_unique<NcclNetwork>(*state_->gpu, *std::move(nccl));
    }
  }
  return state_->network.get();
}

absl::StatusOr<std::vector<std::string>> CudaBackend::ModulesOf(
    absl::Span<const KernelFunction> functions, const std::string& name) const {
  const size_t count =
      (functions.size() + kFunctionsOfModule - 1) / kFunctionsOfModule;
  std::vector<absl::StatusOr<std::string>> codes(count);
  std::atomic<size_t> next = 0;
  Team team(std::clamp(static_cast<int>(count), 1, Team::MaxSize()));
  const auto work = [&](int) {
    for (size_t k; (k = next++) < count;) {
      codes[k] =
          state_->CodeOf(SourceOf(functions.subspan(k * kFunctionsOfModule,
                                                    kFunctionsOfModule)),
                         name);
    }
  };
  if (!team.TryRun(work)) work(0);  // other threads have the processors
  std::vector<std::string> modules;
  for (absl::StatusOr<std::string>& code : codes) {
    OCANNL_ASSIGN_OR_RETURN(modules.emplace_back(), std::move(code));
  }
  return modules;
}

absl::StatusOr<std::unique_ptr<Executable>> CudaBackend::Compile(
    const LoopProgram& program) const {
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram scheduled,
                          state_->Scheduled(program));
  KernelText kernels = WriteKernels(scheduled);
  OCANNL_ASSIGN_OR_RETURN(const std::vector<std::string> modules,
                          ModulesOf(kernels.functions, program.name));
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    for (const Kernel& kernel : kernels.kernels) {
      ++state_->kernels;
      state_->serial_kernels += kernel.blocks * kernel.threads == 1;
    }
  }
  auto executable = std::make_unique<CudaExecutable>(program, state_.get());
  OCANNL_RETURN_IF_ERROR(
      executable->Load(scheduled, std::move(kernels), modules));
  return executable;
}

absl::Status CudaBackend::RunStatus() const { return state_->gpu->status(); }

std::string CudaBackend::Report() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return absl::StrCat(
      state_->gpu->name(), " is ", device(), ": ", state_->kernels,
      " kernels, ", state_->serial_kernels, " of one thread; ", state_->graphs,
      " graphs, ", state_->persistent, " persistent kernels\n",
      state_->options.cache == nullptr ? "" : state_->options.cache->Report(),
      state_->refused);
}

}  // namespace ocannl::cuda
