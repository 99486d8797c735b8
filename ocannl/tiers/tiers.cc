// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tiers/tiers.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/codegen/code_cache.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/core/tiering/checking_backend.h"
#include "ocannl/core/tiering/gpu_tier.h"
#include "ocannl/core/tiering/measure_costs.h"
#include "ocannl/core/tiering/profile.h"
#include "ocannl/core/tiering/profiling_backend.h"
#include "ocannl/core/tiering/tiered_backend.h"
#include "ocannl/core/tiering/traced_backend.h"
#include "ocannl/cuda/cuda_backend.h"
#include "ocannl/cuda/driver.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/interp/tree_backend.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/x86_backend.h"
#include "ocannl/tiers/probes.h"

namespace ocannl {
namespace {

using jit::Isa;

const Backend* Interpreter() {
  static const auto* interp = new interp::InterpBackend();
  return interp;
}

// One cache for each directory.
absl::StatusOr<std::shared_ptr<CodeCache>> Cache(const std::string& directory) {
  static auto* mutex = new std::mutex();
  static auto* caches = new std::map<std::string, std::shared_ptr<CodeCache>>();
  if (directory.empty()) return nullptr;
  std::lock_guard<std::mutex> lock(*mutex);
  auto& cache = (*caches)[directory];
  if (cache == nullptr) {
    OCANNL_ASSIGN_OR_RETURN(cache, CodeCache::Open(directory));
  }
  return cache;
}

// The options, and which of the fresh backends it is; 0: none of them.
struct Wanted : TierOptions {
  int fresh = 0;
};

// The decorator of that type, made of `arguments`, that there is for `tier`.
template <class Decorator, class... Arguments>
const Backend* Decorated(const Backend* tier, const Arguments&... arguments) {
  CHECK(tier != nullptr) << "the tier is null; give that of FindTier";
  static auto* mutex = new std::mutex();
  static auto* backends =
      new std::map<const Backend*, std::unique_ptr<Decorator>>();
  std::lock_guard<std::mutex> lock(*mutex);
  auto& backend = (*backends)[tier];
  if (backend == nullptr) backend = std::make_unique<Decorator>(arguments...);
  return backend.get();
}

const Backend* Interpreter(const TierOptions& options) {
  static const auto* profiled = new ProfilingBackend(
      {.name = "interp", .whole = Interpreter(), .nests = Interpreter()},
      &Profile::OfProcess());
  return options.profile ? profiled : Interpreter();
}

std::string NameOf(Isa isa) { return absl::StrCat("x86-", jit::Name(isa)); }

// `x86`, a backend for `isa`, with a profile.
const Backend* ProfiledX86(Isa isa, const Backend* x86,
                           const TierOptions& options) {
  // The team of the profile runs its code.
  static auto* nests = new std::map<std::pair<Isa, std::vector<std::string>>,
                                    std::unique_ptr<jit::X86Backend>>();
  static auto* mutex = new std::mutex();
  static auto* backends =
      new std::map<const Backend*, std::unique_ptr<ProfilingBackend>>();
  std::lock_guard<std::mutex> lock(*mutex);
  auto& backend = (*backends)[x86];
  if (backend != nullptr) return backend.get();
  auto& unscheduled = (*nests)[{isa, options.skip}];
  if (unscheduled == nullptr) {
    unscheduled = std::make_unique<jit::X86Backend>(
        isa, jit::X86Options{.schedules = false,
                             .skip = options.skip,
                             .interpreter = Interpreter()});
  }
  auto schedule = [isa, skip = options.skip](const LoopProgram& program) {
    std::vector<Refusal> refused;  // `x86` reports them
    return jit::ScheduleFor(program, isa, {.skip = skip, .refused = &refused});
  };
  backend = std::make_unique<ProfilingBackend>(
      ProfiledTier{.name = NameOf(isa),
                   .whole = x86,
                   .nests = unscheduled.get(),
                   .schedule = std::move(schedule),
                   .threads = options.threads},
      &Profile::OfProcess());
  return backend.get();
}

const Backend* TracedIf(const TierOptions& options, const Backend* tier) {
  return options.trace ? Traced(tier) : tier;
}

// One backend for each instruction set, number of threads, cache and passes
// that are left out.
absl::StatusOr<const Backend*> X86(Isa isa, const Wanted& options) {
  using Key = std::tuple<Isa, int, std::string, int, std::vector<std::string>>;
  static auto* mutex = new std::mutex();
  static auto* backends = new std::map<Key, std::unique_ptr<jit::X86Backend>>();
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<CodeCache> cache,
                          Cache(options.code_cache));
  std::lock_guard<std::mutex> lock(*mutex);
  auto& backend = (*backends)[{isa, options.threads, options.code_cache,
                               options.fresh, options.skip}];
  if (backend == nullptr) {
    backend = std::make_unique<jit::X86Backend>(
        isa, jit::X86Options{.threads = options.threads,
                             .cache = std::move(cache),
                             .skip = options.skip,
                             .interpreter = Interpreter()});
  }
  return options.profile ? ProfiledX86(isa, backend.get(), options)
                         : backend.get();
}

// The number in "cuda:1", or that of the options for "cuda".
std::optional<int> GpuOf(absl::string_view name, const TierOptions& options) {
  if (name == "cuda") return options.cuda_device;
  int device = 0;
  if (!absl::ConsumePrefix(&name, "cuda:") ||
      !absl::SimpleAtoi(name, &device) || device < 0) {
    return std::nullopt;
  }
  return device;
}

// One backend for each GPU, toolkit and cache.
absl::StatusOr<const cuda::CudaBackend*> Cuda(int device,
                                              const Wanted& options) {
  using Key = std::tuple<int, std::string, std::string, int>;
  static auto* mutex = new std::mutex();
  static auto* backends =
      new std::map<Key, std::unique_ptr<const cuda::CudaBackend>>();
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<CodeCache> cache,
                          Cache(options.code_cache));
  std::lock_guard<std::mutex> lock(*mutex);
  auto& backend = (*backends)[{device, options.cuda_home, options.code_cache,
                               options.fresh}];
  if (backend == nullptr) {
    OCANNL_ASSIGN_OR_RETURN(
        backend, cuda::CudaBackend::Open({.device = device,
                                          .cuda_home = options.cuda_home,
                                          .cache = std::move(cache)}));
  }
  return backend.get();
}

// The processor, its threads, and the GPU.
std::string MachineOf(const cuda::CudaBackend& gpu, int threads) {
  return absl::StrCat(ProcessorName(), " with ", threads, " threads and ",
                      gpu.device());
}

// Whether the kernel has NVIDIA's driver, or that of WSL. To look for the
// driver's library takes 0.1 ms, a twentieth of a short process.
bool HasGpuDriver() {
  return access("/proc/driver/nvidia/version", F_OK) == 0 ||
         access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

// Null: the machine has no driver of a GPU.
std::shared_ptr<GpuTier> GpuIfAny(const Backend* x86, const Wanted& options) {
  if (!HasGpuDriver()) return nullptr;
  auto open = [x86, options]() -> absl::StatusOr<GpuTier::Opened> {
    const double start = SystemSeconds();
    OCANNL_ASSIGN_OR_RETURN(const cuda::CudaBackend* cuda,
                            Cuda(options.cuda_device, options));
    const double open_seconds = SystemSeconds() - start;
    const std::string cache = UserCacheDirectory();
    OCANNL_ASSIGN_OR_RETURN(
        FoundCosts found,
        KeptCosts(cache.empty() ? "" : cache + "/costs",
                  MachineOf(*cuda, options.threads),
                  [&]() -> absl::StatusOr<MigrationCosts> {
                    OCANNL_ASSIGN_OR_RETURN(
                        MigrationCosts costs,
                        MeasureMigrationCosts(*x86, *cuda, SystemSeconds));
                    costs.open_seconds = open_seconds;
                    return costs;
                  }));
    return GpuTier::Opened{.backend = TracedIf(options, cuda),
                           .costs = found.costs,
                           .note = std::move(found.note)};
  };
  return std::make_shared<GpuTier>(std::move(open));
}

absl::StatusOr<const Backend*> Auto(Isa isa, const Wanted& options) {
  using Key = std::pair<const Backend*, bool>;
  static auto* mutex = new std::mutex();
  static auto* backends = new std::map<Key, std::unique_ptr<TieredBackend>>();
  OCANNL_ASSIGN_OR_RETURN(const Backend* x86, X86(isa, options));
  x86 = TracedIf(options, x86);
  std::lock_guard<std::mutex> lock(*mutex);
  auto& backend = (*backends)[{x86, options.report}];
  if (backend == nullptr) {
    backend = std::make_unique<TieredBackend>(
        Tiering{.first = TracedIf(options, Interpreter(options)),
                .second = x86,
                .gpu = options.profile ? nullptr : GpuIfAny(x86, options)},
        TieredOptions{.report = options.report,
                      .background = Team::MaxSize() > 1});
  }
  return backend.get();
}

// The tier that somebody means by another name; empty: none.
absl::string_view TierMeantBy(absl::string_view name) {
  constexpr std::pair<absl::string_view, absl::string_view> kNames[] = {
      {"gpu", "cuda"},          {"nvidia", "cuda"},
      {"cpu", "auto"},          {"host", "auto"},
      {"default", "auto"},      {"jit", "x86"},
      {"native", "x86"},        {"x86_64", "x86"},
      {"avx2", "x86-avx2"},     {"avx", "x86-avx2"},
      {"avx512", "x86-avx512"}, {"interpreter", "interp"},
      {"interpret", "interp"}};
  for (const auto& [other, meant] : kNames) {
    if (absl::EqualsIgnoreCase(name, other)) return meant;
  }
  return "";
}

absl::Status UnknownTier(absl::string_view name) {
  const absl::string_view meant = TierMeantBy(name);
  return absl::InvalidArgumentError(absl::StrCat(
      "no tier ", name.empty() ? "is named" : name, "; ",
      meant.empty() ? "" : absl::StrCat("did you mean ", meant, "? "),
      "the tiers are ", TierNames(), ", cuda:0, cuda:1, ... and auto"));
}

absl::StatusOr<const Backend*> Find(absl::string_view name, Wanted options) {
  if (options.threads == 0) options.threads = Team::MaxSize();
  const std::optional<Isa> host = jit::HostIsa();
  if (name == "interp" || (name == "auto" && !host)) {
    return TracedIf(options, Interpreter(options));
  }
  if (name == "auto") return Auto(*host, options);
  for (Isa isa : jit::kIsas) {
    const bool is_best = name == "x86" && isa == host.value_or(jit::kIsas[0]);
    if (!is_best && name != NameOf(isa)) continue;
    if (jit::IsSupported(isa)) {
      OCANNL_ASSIGN_OR_RETURN(const Backend* x86, X86(isa, options));
      return TracedIf(options, x86);
    }
    return absl::UnimplementedError(
        absl::StrCat("tier ", name, " needs a processor with ", jit::Name(isa),
                     "; use --tier=auto for the best that this machine has"));
  }
  if (const std::optional<int> gpu = GpuOf(name, options)) {
    if (options.profile) {
      return UserError("--profile measures nests on the host, not on --tier=",
                       name, "; use --trace, or another tier");
    }
    OCANNL_ASSIGN_OR_RETURN(const cuda::CudaBackend* cuda, Cuda(*gpu, options));
    return TracedIf(options, cuda);
  }
  if (name == "all") {
    return absl::InvalidArgumentError(
        "tier all compares what a loop program leaves on each tier: only the "
        "command run has it");
  }
  return UnknownTier(name);
}

}  // namespace

std::string TierNames() {
  return absl::StrCat("interp, x86, x86-", jit::IsaNames(", x86-"), ", cuda");
}

absl::StatusOr<const Backend*> FindTier(absl::string_view name,
                                        TierOptions options) {
  return Find(name, {std::move(options)});
}

absl::StatusOr<const Backend*> FreshBackend(absl::string_view name,
                                            TierOptions options) {
  static std::atomic<int> fresh = 0;
  return Find(name, {std::move(options), ++fresh});
}

absl::StatusOr<int> NumDevices(absl::string_view name) {
  if (name == "cuda") return cuda::NumGpus();
  OCANNL_RETURN_IF_ERROR(FindTier(name).status());
  return 1;
}

absl::StatusOr<const Backend*> GetDevice(absl::string_view name, int ordinal,
                                         TierOptions options) {
  OCANNL_ASSIGN_OR_RETURN(const int count, NumDevices(name));
  if (ordinal < 0 || ordinal >= count) {
    return absl::NotFoundError(
        absl::StrCat("tier ", name, " has no device ", ordinal, "; it has ",
                     count, count == 1 ? " device" : " devices", ", from 0"));
  }
  if (name == "cuda") options.cuda_device = ordinal;
  return FindTier(name, std::move(options));
}

absl::StatusOr<VirtualDevices> GetAllSuggestedDevices(absl::string_view name,
                                                      int max,
                                                      TierOptions options) {
  OCANNL_ASSIGN_OR_RETURN(int count, NumDevices(name));
  count = std::min(count, max);
  std::optional<VirtualDevices> all;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    OCANNL_ASSIGN_OR_RETURN(const Backend* backend,
                            GetDevice(name, ordinal, options));
    // One at least of each of those behind it.
    const int taken = all ? static_cast<int>(all->size()) : 0;
    const int most = max - taken - (count - ordinal - 1);
    VirtualDevices devices(backend,
                           std::min(SuggestedVirtualDevices(*backend), most));
    if (all) {
      all->Append(std::move(devices));
    } else {
      all.emplace(std::move(devices));
    }
  }
  if (all) return *std::move(all);
  return absl::InvalidArgumentError(
      absl::StrCat("at most ", max, " devices of tier ", name,
                   " are asked for; ask for 1 at least"));
}

const Backend* Checked(const Backend* tier) {
  return Decorated<CheckingBackend>(tier, Interpreter(), tier);
}

const Backend* Traced(const Backend* tier) {
  return Decorated<TracedBackend>(tier, tier);
}

const Backend* Observed(
    std::vector<std::unique_ptr<interp::RunObserver>> observers) {
  static auto* mutex = new std::mutex();
  static auto* backends = new std::vector<std::unique_ptr<interp::TreeBackend>>;
  std::lock_guard<std::mutex> lock(*mutex);
  backends->push_back(
      std::make_unique<interp::TreeBackend>(std::move(observers)));
  return backends->back().get();
}

std::vector<std::string> AvailableTiers() {
  std::vector<std::string> names = {"interp"};
  for (Isa isa : jit::kIsas) {
    if (jit::IsSupported(isa)) names.push_back(NameOf(isa));
  }
  return names;
}

}  // namespace ocannl
