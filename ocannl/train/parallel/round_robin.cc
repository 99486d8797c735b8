// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/round_robin.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/train/run/sequential_loop.h"

namespace ocannl::train {

namespace {

// Calls `run` with 0, 1, ... below `count` in turn for each combination of the
// indices, and `sync` as RoundRobin does, with the indices of the last one.
absl::Status Rounds(absl::Span<const StaticRef> statics, int count,
                    absl::FunctionRef<absl::Status(int worker)> run,
                    absl::FunctionRef<absl::Status(int n)> sync) {
  CHECK_GT(count, 0);
  int64_t left = 1;  // combinations
  for (const StaticRef& index : statics) left *= index.range().value_or(1);
  int n = 0;  // that ran in this round
  return SequentialLoop(statics, [&]() -> absl::Status {
    OCANNL_RETURN_IF_ERROR(run(n++));
    if (--left > 0 && n < count) return absl::OkStatus();
    return sync(std::exchange(n, 0));
  });
}

// Runs workers[n] with the static indices of the first one that have a range.
absl::Status RunAsFirst(absl::Span<Routine> workers, int n) {
  for (const StaticRef& index : workers[0].statics()) {
    if (!index.range() || !index.value()) continue;
    OCANNL_RETURN_IF_ERROR(workers[n].Set(index.name(), *index.value()));
  }
  return workers[n].Run();
}

}  // namespace

absl::Status RoundRobin(absl::Span<Routine> workers,
                        absl::FunctionRef<absl::Status(int n)> sync) {
  return Rounds(
      workers.at(0).statics(), static_cast<int>(workers.size()),
      [&](int n) { return RunAsFirst(workers, n); }, sync);
}

absl::Status ParallelUpdate(absl::Span<Routine> gradients, Routine& update,
                            Replicas& replicas,
                            absl::FunctionRef<absl::Status(int n)> post_sync) {
  // Workers of the replicas' streams call no team: this thread is at work, too.
  const Team::SideBySide share;
  auto run = [&](int replica) -> absl::Status {
    const std::optional<int> here = replicas.Here(replica);
    return here ? RunAsFirst(gradients, *here) : absl::OkStatus();
  };
  auto sync = [&](int n) -> absl::Status {
    OCANNL_RETURN_IF_ERROR(replicas.MergeGradients(n));
    for (const StaticRef& index : gradients[0].statics()) {
      if (!index.range()) continue;
      absl::Status set = update.Set(index.name(), *index.value());
      if (!absl::IsNotFound(set)) OCANNL_RETURN_IF_ERROR(set);
    }
    if (replicas.Here(0)) OCANNL_RETURN_IF_ERROR(update.Run());
    OCANNL_RETURN_IF_ERROR(replicas.ShareParameters());
    return post_sync(n);
  };
  return Rounds(gradients.at(0).statics(), replicas.count(), run, sync);
}

}  // namespace ocannl::train
