// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/round_robin.h"

#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/sequential_loop.h"

namespace ocannl::train {

absl::Status RoundRobin(absl::Span<Routine> workers,
                        absl::FunctionRef<absl::Status(int n)> sync) {
  CHECK(!workers.empty());
  int n = 0;  // that ran in this round
  auto run_next = [&] {
    Routine& worker = workers[n];
    for (const StaticRef& index : workers[0].statics()) {
      if (!index.value()) continue;
      OCANNL_RETURN_IF_ERROR(worker.Set(index.name(), *index.value()));
    }
    OCANNL_RETURN_IF_ERROR(worker.Run());
    if (++n < static_cast<int>(workers.size())) return absl::OkStatus();
    return sync(std::exchange(n, 0));
  };
  OCANNL_RETURN_IF_ERROR(SequentialLoop(workers[0].statics(), run_next));
  return n == 0 ? absl::OkStatus() : sync(n);
}

absl::Status RoundRobinDryRun(absl::Span<const StaticRef> statics,
                              int n_workers,
                              absl::FunctionRef<absl::Status(int n)> dry_sync) {
  CHECK_GT(n_workers, 0);
  int n = 0;
  auto count = [&] {
    if (++n < n_workers) return absl::OkStatus();
    return dry_sync(std::exchange(n, 0));
  };
  OCANNL_RETURN_IF_ERROR(SequentialLoop(statics, count));
  return n == 0 ? absl::OkStatus() : dry_sync(n);
}

absl::Status ParallelUpdate(absl::Span<Routine> gradients, Routine& update,
                            Replicas& replicas,
                            absl::FunctionRef<absl::Status(int n)> post_sync) {
  return RoundRobin(gradients, [&](int n) {
    OCANNL_RETURN_IF_ERROR(replicas.MergeGradients(n));
    for (const StaticRef& index : gradients[0].statics()) {
      if (!index.range()) continue;
      absl::Status set = update.Set(index.name(), *index.value());
      if (!absl::IsNotFound(set)) OCANNL_RETURN_IF_ERROR(set);
    }
    OCANNL_RETURN_IF_ERROR(update.Run());
    OCANNL_RETURN_IF_ERROR(replicas.ShareParameters());
    return post_sync(n);
  });
}

}  // namespace ocannl::train
