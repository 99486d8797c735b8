// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tune/race.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/tiering/first_difference.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/run_trials.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl::tune {
namespace {

constexpr int kMostPrograms = 64;
// A sample is as many runs as take so long, of the first program.
constexpr double kSampleSeconds = 100e-6;
constexpr int kFirstSamples = 3;  // of the first round
constexpr int kProofSeconds = 120;
// On a machine with other work, a second of processor time takes longer. What
// sleeps ends, too.
constexpr int kMostLoad = 20;

using Arrays = std::map<std::string, NdArray>;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What the child tells, also if it dies.
struct Told {
  struct Slot {
    bool is_done = false;
    double seconds = 0;
    double ratio = 0;
    std::array<char, 200> fault{};
  };
  int current = 0;  // the program whose first run is on
  std::array<Slot, kMostPrograms> slots{};
};

// The arrays of the programs in memory of the child.
class Cells {
 public:
  explicit Cells(const Arrays& from) : from_(from) {}

  // The addresses for a program. What no array is for gets memory if the code
  // has none of its own.
  std::vector<std::byte*> Bind(const LoopProgram& program, bool has_scratch) {
    std::vector<std::byte*> addresses;
    for (const Buffer& buffer : program.buffers) {
      const auto array = from_.find(buffer.name);
      if (IsScratch(buffer.role) || array == from_.end()) {
        addresses.push_back(has_scratch ? nullptr : Scratch(buffer));
        continue;
      }
      DeviceMemory& memory = arrays_[buffer.name];
      if (memory.address() == nullptr) {
        memory = Allocated(array->second.bytes());
        CHECK_OK(memory.CopyIn(array->second.data()));
      }
      addresses.push_back(memory.address());
    }
    return addresses;
  }

  // Writes what was there first to buffers that a run changes; to those of
  // `out`, too, if it is to be seen whether a run writes them.
  void Restore(const LoopProgram& program, bool also_out) {
    for (const Buffer& buffer : program.buffers) {
      if (buffer.role != Role::kInOut &&
          (buffer.role != Role::kOut || !also_out)) {
        continue;
      }
      CHECK_OK(arrays_[buffer.name].CopyIn(from_.at(buffer.name).data()));
    }
  }

  // What is in the results.
  std::vector<NdArray> Results(const LoopProgram& program) {
    std::vector<NdArray> results;
    for (const Buffer& buffer : program.buffers) {
      if (!IsResult(buffer.role)) continue;
      NdArray& result = results.emplace_back(buffer.dtype, buffer.dims);
      std::memcpy(result.data(), arrays_[buffer.name].address(),
                  result.bytes());
    }
    return results;
  }

 private:
  static DeviceMemory Allocated(size_t bytes) {
    absl::StatusOr<DeviceMemory> memory =
        DeviceMemory::Allocate(std::max<size_t>(bytes, 1));
    CHECK_OK(memory);
    return *std::move(memory);
  }

  std::byte* Scratch(const Buffer& buffer) {
    scratch_.push_back(
        Allocated(NumElements(buffer.dims) * SizeOf(buffer.dtype)));
    return scratch_.back().address();
  }

  const Arrays& from_;
  std::map<std::string, DeviceMemory> arrays_;
  std::vector<DeviceMemory> scratch_;
};

// Where results differ in a bit; empty: nowhere.
std::string Difference(const LoopProgram& program,
                       const std::vector<NdArray>& expected,
                       const std::vector<NdArray>& actual) {
  size_t next = 0;
  for (const Buffer& buffer : program.buffers) {
    if (!IsResult(buffer.role)) continue;
    const NdArray& want = expected[next];
    const NdArray& have = actual[next++];
    if (std::memcmp(want.data(), have.data(), want.bytes()) == 0) continue;
    std::string difference = FirstDifference(buffer, want, have);
    if (!difference.empty()) return difference;
  }
  return "";
}

// What a child does.
class Heat {
 public:
  Heat(const RaceOptions& options, const Arrays& arrays,
       absl::Span<const int64_t> statics,
       absl::Span<const LoopProgram* const> programs, Told& told)
      : options_(options),
        backend_(options.isa, {.threads = options.threads}),
        cells_(arrays),
        statics_(statics),
        programs_(programs),
        told_(told),
        runners_(programs.size()) {}

  void Run(absl::Span<const int> pending, const Rules& rules) {
    DefaultFloatEnvironment guard;
    std::vector<int> alive;
    for (int k : pending) {
      told_.current = k;
      const std::string fault = Start(k, rules.cut);
      if (fault.empty()) {
        alive.push_back(k);
      } else {
        std::snprintf(told_.slots[k].fault.data(), told_.slots[k].fault.size(),
                      "%s", fault.c_str());
      }
    }
    told_.current = -1;
    for (int round = 0; round < rules.rounds && !alive.empty(); ++round) {
      RunRound(alive, kFirstSamples << round, rules.round_seconds);
      std::stable_sort(alive.begin() + 1, alive.end(), [&](int a, int b) {
        return told_.slots[a].ratio < told_.slots[b].ratio;
      });
      // The first one, and the better half of the others.
      if (round + 1 < rules.rounds) alive.resize(1 + alive.size() / 2);
    }
  }

 private:
  struct Runner {
    std::unique_ptr<Executable> code;
    std::vector<std::byte*> cells;
    double once = 0;  // seconds
  };

  double Now() const {
    timespec now;
    clock_gettime(
        options_.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC,
        &now);
    return static_cast<double>(now.tv_sec) +
           1e-9 * static_cast<double>(now.tv_nsec);
  }

  double Seconds(const Runner& runner, int64_t runs) {
    const double start = Now();
    for (int64_t k = 0; k < runs; ++k) runner.code->Run(runner.cells, statics_);
    return Now() - start;
  }

  // Why the program does not take part; else "".
  std::string Start(int k, double cut) {
    absl::StatusOr<std::unique_ptr<Executable>> code =
        backend_.Compile(*programs_[k]);
    if (!code.ok()) return std::string(code.status().message());
    Runner& runner = runners_[k];
    runner.code = *std::move(code);
    runner.cells = cells_.Bind(*programs_[k], runner.code->HasScratch());
    cells_.Restore(*programs_[0], /*also_out=*/true);
    runner.once = Seconds(runner, 1);
    const std::vector<NdArray> results = cells_.Results(*programs_[0]);
    if (k == 0) {
      expected_ = results;
      for (int again = 0; again < 3; ++again) Improve(runner);
      runs_ = std::max<int64_t>(
          1, static_cast<int64_t>(kSampleSeconds / runner.once));
      return "";
    }
    const std::string difference =
        Difference(*programs_[0], expected_, results);
    if (!difference.empty()) return absl::StrCat("bits differ: ", difference);
    if (runner.once < 8 * cut * runners_[0].once) Improve(runner);
    return runner.once > cut * runners_[0].once ? "slow" : "";
  }

  void Improve(Runner& runner) {
    cells_.Restore(*programs_[0], /*also_out=*/false);
    runner.once = std::min(runner.once, Seconds(runner, 1));
  }

  void RunRound(const std::vector<int>& alive, int samples, double seconds) {
    double all = 0;
    for (int k : alive) {
      all += runners_[k].once * static_cast<double>(runs_);
    }
    samples = std::clamp(static_cast<int>(seconds / all), 1, samples);
    std::map<int, std::vector<double>> times;
    for (int sample = 0; sample < samples; ++sample) {
      for (int k : alive) {
        cells_.Restore(*programs_[0], /*also_out=*/false);
        times[k].push_back(Seconds(runners_[k], runs_) /
                           static_cast<double>(runs_));
      }
    }
    for (int k : alive) {
      std::vector<double> ratios;
      for (int sample = 0; sample < samples; ++sample) {
        ratios.push_back(times[k][sample] / times[0][sample]);
      }
      told_.slots[k].is_done = true;
      told_.slots[k].ratio = Median(ratios);
      told_.slots[k].seconds = Median(times[k]);
    }
  }

  const RaceOptions& options_;
  const jit::X86Backend backend_;
  Cells cells_;
  const absl::Span<const int64_t> statics_;
  const absl::Span<const LoopProgram* const> programs_;
  Told& told_;
  std::vector<Runner> runners_;
  std::vector<NdArray> expected_;
  int64_t runs_ = 1;  // of a sample
};

// Runs in a child that is killed after so much processor time.
fuzz::ChildResult RunLimited(int seconds,
                             absl::FunctionRef<std::string()> run) {
  return fuzz::RunInChild(seconds * kMostLoad, [&] {
    const rlimit limit = {.rlim_cur = static_cast<rlim_t>(seconds),
                          .rlim_max = static_cast<rlim_t>(seconds)};
    CHECK_EQ(setrlimit(RLIMIT_CPU, &limit), 0);
    return run();
  });
}

int64_t ScratchBytes(const LoopProgram& program) {
  int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    if (!IsScratch(buffer.role)) continue;
    bytes += NumElements(buffer.dims) * SizeOf(buffer.dtype);
  }
  return bytes;
}

}  // namespace

OnMachine::OnMachine(const RaceOptions& options, const LoopProgram& whole,
                     uint64_t seed)
    : options_(options), statics_(fuzz::FillStatics(whole, seed)) {
  for (const Buffer& buffer : whole.buffers) {
    arrays_.emplace(buffer.name,
                    fuzz::FillBuffer(buffer, fuzz::FillKind::kUnit, seed));
  }
}

std::vector<Outcome> OnMachine::Run(
    absl::Span<const LoopProgram* const> programs, const Rules& rules) {
  CHECK_LE(programs.size(), size_t{kMostPrograms});
  std::vector<Outcome> outcomes(programs.size());
  const int64_t most = options_.most_scratch + ScratchBytes(*programs[0]);
  std::vector<int> pending;
  for (size_t k = 0; k < programs.size(); ++k) {
    if (ScratchBytes(*programs[k]) > most) {
      outcomes[k].fault = absl::StrCat("its private arrays have more than ",
                                       most >> 20, " MiB");
    } else {
      pending.push_back(static_cast<int>(k));
    }
  }
  fuzz::SharedMemory<Told> told;
  while (!pending.empty()) {
    *told = Told();
    const fuzz::ChildResult child =
        RunLimited(options_.most_seconds, [&]() -> std::string {
          Heat(options_, arrays_, statics_, programs, *told)
              .Run(pending, rules);
          return "";
        });
    for (int k : pending) {
      const Told::Slot& slot = told->slots[k];
      outcomes[k] = {.is_done = slot.is_done,
                     .seconds = slot.seconds,
                     .ratio = slot.ratio,
                     .fault = slot.fault.data()};
    }
    // Once all have run, what was measured until then counts.
    const int blamed = told->current;
    if (!child.died || blamed < 0) break;
    // Whoever is to blame stays out, and the others start again.
    outcomes[blamed] = {.fault = child.text};
    if (blamed == 0) break;
    std::erase(pending, blamed);
  }
  return outcomes;
}

std::string OnMachine::Proof(const LoopProgram& on_interpreter,
                             const LoopProgram& program) {
  const fuzz::ChildResult child =
      RunLimited(kProofSeconds, [&]() -> std::string {
        DefaultFloatEnvironment guard;
        const interp::InterpBackend interpreter;
        const jit::X86Backend x86(options_.isa, {.threads = options_.threads});
        const std::pair<const Backend*, const LoopProgram*> runs[] = {
            {&interpreter, &on_interpreter}, {&x86, &program}};
        std::vector<std::vector<NdArray>> results;
        for (const auto& [backend, code] : runs) {
          absl::StatusOr<std::unique_ptr<Executable>> executable =
              backend->Compile(*code);
          if (!executable.ok()) {
            return std::string(executable.status().message());
          }
          Cells cells(arrays_);
          const std::vector<std::byte*> addresses =
              cells.Bind(*code, (*executable)->HasScratch());
          (*executable)->Run(addresses, statics_);
          results.push_back(cells.Results(on_interpreter));
        }
        return Difference(on_interpreter, results[0], results[1]);
      });
  return child.text;
}

}  // namespace ocannl::tune
