// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/round_robin.h"

#include <optional>
#include <utility>
#include <vector>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/train/sequential_loop.h"

namespace ocannl::train {

namespace {

// Calls `run` with 0, 1, ... below `count` in turn for each combination of the
// indices, and `sync` as RoundRobin does, at the end with the indices of the
// last one.
absl::Status Rounds(absl::Span<const StaticRef> statics, int count,
                    absl::FunctionRef<absl::Status(int worker)> run,
                    absl::FunctionRef<absl::Status(int n)> sync) {
  CHECK_GT(count, 0);
  int n = 0;  // that ran in this round
  using Values = std::vector<std::optional<int64_t>>;
  auto values = [&] {
    Values all;
    for (const StaticRef& index : statics) all.push_back(index.value());
    return all;
  };
  auto set = [&](const Values& all) -> absl::Status {
    for (size_t k = 0; k < statics.size(); ++k) {
      StaticRef index = statics[k];
      if (all[k]) OCANNL_RETURN_IF_ERROR(index.Set(*all[k]));
    }
    return absl::OkStatus();
  };
  Values last;
  auto run_next = [&]() -> absl::Status {
    OCANNL_RETURN_IF_ERROR(run(n));
    if (++n == count) return sync(std::exchange(n, 0));
    last = values();
    return absl::OkStatus();
  };
  OCANNL_RETURN_IF_ERROR(SequentialLoop(statics, run_next));
  if (n == 0) return absl::OkStatus();
  const Values before = values();
  OCANNL_RETURN_IF_ERROR(set(last));
  OCANNL_RETURN_IF_ERROR(sync(n));
  return set(before);
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

absl::Status RoundRobinDryRun(absl::Span<const StaticRef> statics,
                              int n_workers,
                              absl::FunctionRef<absl::Status(int n)> dry_sync) {
  return Rounds(
      statics, n_workers, [](int) { return absl::OkStatus(); }, dry_sync);
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
