// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/launch_forecast.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/tiering/cost/nest_work.h"

namespace ocannl::cuda {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability", of 9.0; an H200 has so many multiprocessors.
constexpr double kMultiprocessors = 132;
constexpr int64_t kThreadsAtOnce = 2048;
constexpr int64_t kBlocksAtOnce = 32;
constexpr int64_t kSharedAtOnce = 227 * 1024;
constexpr double kLanes = 128;  // operations at once
constexpr double kClock = 1.755e9;
// Of a copy, of a kernel that does nothing and of an addition that waits for
// the one before (tools/gpu_check.sh; docs/gpu/h200.md).
constexpr double kCopyRate = 3.7e12;
constexpr double kStart = 2e-6;
constexpr double kAddition = 2.3e-9;
// A read from memory under load: so many bytes on their way to each processor
// are the 4.8 TB/s of the data sheet.
constexpr double kFullFlight = 40e3;
constexpr double kLatency = kFullFlight * kMultiprocessors / 4.8e12;

// Iterations of a short loop that NVRTC puts side by side at least.
constexpr double kUnrolledByNvrtc = 4;

bool IsInMemory(const LoopProgram& program, const Access& access) {
  return !IsOfNest(program.buffers[access.buffer].role);
}

bool Reads(const LoopProgram& program, const Set& set, bool memory) {
  bool reads = false;
  WalkReads(program, set.value, [&](const Access& access) {
    reads |= memory ? IsInMemory(program, access) : access == set.target;
  });
  return reads;
}

// What one thread of a block does.
class ThreadWork {
 public:
  explicit ThreadWork(const LoopProgram& program) : program_(program) {}

  // Reads that do not wait for each other are one wait.
  double Waits(const Block& block) const {
    double waits = 0;
    std::optional<Effects> on_their_way;
    for (const Stmt& stmt : block.stmts) {
      const double own = Waits(stmt);
      const Effects effects = EffectsOf(program_, stmt);
      if (on_their_way && (own > 1 || Conflict(*on_their_way, effects))) {
        on_their_way.reset();
      }
      if (own == 0) continue;
      if (!on_their_way) waits += own;
      if (own > 1) continue;
      if (!on_their_way) on_their_way.emplace();
      for (BufferId id : effects.writes) on_their_way->writes.push_back(id);
      std::sort(on_their_way->writes.begin(), on_their_way->writes.end());
    }
    return waits;
  }

  double Chain(const Block& block) {
    double chain = 0;
    for (const Stmt& stmt : block.stmts) {
      if (const For* loop = std::get_if<For>(&stmt)) {
        loops_.push_back(loop);
        chain += Chain(loop->body);
        loops_.pop_back();
      } else if (const Set* set = std::get_if<Set>(&stmt)) {
        double times = Reads(program_, *set, /*memory=*/false) ? 1 : 0;
        for (const For* in : loops_) {
          const bool turns = in->kind == LoopKind::kFor ||
                             (in->kind == LoopKind::kUnroll &&
                              !MovesAlong(set->target, in->iterator));
          if (turns) times *= static_cast<double>(in->extent);
        }
        chain += times;
      }
    }
    return chain;
  }

  // Instructions of all threads: operations, and reads, of which those that an
  // unrolled loop repeats stay in registers.
  double Instructions(const Block& block) {
    double all = 0;
    for (const Stmt& stmt : block.stmts) {
      if (const For* loop = std::get_if<For>(&stmt)) {
        loops_.push_back(loop);
        all += Instructions(loop->body);
        loops_.pop_back();
      } else if (const Set* set = std::get_if<Set>(&stmt)) {
        all += Times([](const For&) { return true; });
        WalkReads(program_, set->value, [&](const Access& access) {
          if (program_.buffers[access.buffer].role == Role::kPrivate) return;
          all += Times([&](const For& in) {
            return in.kind != LoopKind::kUnroll ||
                   MovesAlong(access, in.iterator);
          });
        });
      }
    }
    return all;
  }

 private:
  double Waits(const Stmt& stmt) const {
    if (const For* loop = std::get_if<For>(&stmt)) {
      const double inside = Waits(loop->body);
      const auto extent = static_cast<double>(loop->extent);
      if (loop->kind == LoopKind::kUnroll) {
        return inside > 1 ? inside * extent : inside;
      }
      if (loop->kind != LoopKind::kFor) return inside;
      const bool is_unrolled = !loop->body.stmts.empty() &&
                               std::holds_alternative<Set>(loop->body.stmts[0]);
      return inside *
             (is_unrolled ? std::ceil(extent / kUnrolledByNvrtc) : extent);
    }
    const Set* set = std::get_if<Set>(&stmt);
    return set != nullptr && Reads(program_, *set, /*memory=*/true) ? 1 : 0;
  }

  template <class Counts>
  double Times(Counts counts) const {
    double times = 1;
    for (const For* loop : loops_) {
      if (counts(*loop)) times *= static_cast<double>(loop->extent);
    }
    return times;
  }

  const LoopProgram& program_;
  std::vector<const For*> loops_;
};

int64_t BlocksAtOnce(const LaunchForecast& launch) {
  const int64_t warps = (launch.threads + 31) / 32;
  int64_t blocks = std::min(kBlocksAtOnce, kThreadsAtOnce / (32 * warps));
  if (launch.shared_bytes > 0) {
    blocks = std::min(blocks, kSharedAtOnce / (launch.shared_bytes + 1024));
  }
  return std::max<int64_t>(blocks, 1);
}

LaunchForecast ForecastOf(const LoopProgram& program, const For& outermost) {
  const gpu::LoopNest grid(outermost);
  LaunchForecast launch;
  launch.blocks = grid.size;
  gpu::WalkPhases(grid.body(), [&](const For& phase) {
    launch.threads = std::max(launch.threads, gpu::LoopNest(phase).size);
  });
  launch.shared_bytes = gpu::SharedBytes(program, grid.body());
  std::vector<std::string> names;
  for (BufferId id : EffectsOf(program, grid.body()).writes) {
    const Buffer& buffer = program.buffers[id];
    if (!IsOfNest(buffer.role)) names.push_back(buffer.name);
  }
  launch.writes = absl::StrJoin(names, ", ");
  const Block all{{outermost}};
  const NestWork work = NestWorkOf(program, all);
  launch.bytes = work.bytes_read + work.bytes_written;
  ThreadWork thread(program);
  launch.waits = thread.Waits(grid.body());
  launch.chain = thread.Chain(grid.body());

  const auto blocks = static_cast<double>(launch.blocks);
  const auto at_once = static_cast<double>(BlocksAtOnce(launch));
  const double of_processor = std::min(at_once, blocks / kMultiprocessors);
  const NestWork of_block = NestWorkOf(program, grid.body());
  launch.bytes_in_flight =
      of_processor * of_block.bytes_read / std::max(launch.waits, 1.);
  const double waves = std::max(1., blocks / (at_once * kMultiprocessors));
  const double memory =
      std::max(launch.bytes / kCopyRate, waves * launch.waits * kLatency);
  const double lanes =
      std::min(kLanes, std::ceil(static_cast<double>(launch.threads) / 32) *
                           32 * std::max(1., of_processor));
  const double issue = thread.Instructions({{outermost}}) /
                       (lanes * std::min(kMultiprocessors, blocks) * kClock);
  const double chain = waves * launch.chain * kAddition;
  launch.seconds = kStart + std::max({memory, issue, chain});
  launch.of_copy = launch.bytes / kCopyRate / launch.seconds;
  return launch;
}

}  // namespace

std::vector<LaunchForecast> ForecastLaunches(const LoopProgram& scheduled) {
  std::vector<LaunchForecast> launches;
  for (const Stmt& stmt : scheduled.body.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || loop->kind != LoopKind::kGrid) continue;
    launches.push_back(ForecastOf(scheduled, *loop));
  }
  return launches;
}

std::string PrintLaunches(const std::vector<LaunchForecast>& launches) {
  size_t width = 6;
  for (const LaunchForecast& launch : launches) {
    width = std::max(width, launch.writes.size());
  }
  std::string text = absl::StrFormat(
      "%-*s %8s %8s %8s %8s %8s %8s %9s %8s\n", width, "kernel", "blocks",
      "threads", "shared", "KB/SM", "waits", "chain", "us", "of copy");
  double bytes = 0;
  double seconds = 0;
  for (const LaunchForecast& launch : launches) {
    absl::StrAppendFormat(
        &text, "%-*s %8d %8d %8d %8.1f %8.0f %8.0f %9.1f %8.3f\n", width,
        launch.writes, launch.blocks, launch.threads, launch.shared_bytes,
        launch.bytes_in_flight / 1e3, launch.waits, launch.chain,
        launch.seconds * 1e6, launch.of_copy);
    bytes += launch.bytes;
    seconds += launch.seconds;
  }
  absl::StrAppendFormat(&text, "%-*s %62s %9.1f %8.3f\n", width,
                        absl::StrCat(launches.size(), " kernels"), "",
                        seconds * 1e6,
                        seconds > 0 ? bytes / kCopyRate / seconds : 0.);
  return text;
}

}  // namespace ocannl::cuda
