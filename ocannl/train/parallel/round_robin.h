// SPDX-License-Identifier: Apache-2.0
//
// The minibatches of an epoch, given to several devices in turn.
//
//   OCANNL_RETURN_IF_ERROR(train::ParallelUpdate(
//       absl::MakeSpan(gradients), update, replicas,
//       [&](int n) { return step.Set(number += n); }));
#ifndef OCANNL_TRAIN_PARALLEL_ROUND_ROBIN_H_
#define OCANNL_TRAIN_PARALLEL_ROUND_ROBIN_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/train/parallel/replicas.h"

namespace ocannl::train {

// What SequentialLoop does with the static indices of workers[0], but each
// combination of values runs on the next one of the `workers`, at least one,
// which have the same indices; each keeps its own values of those without a
// range, such as the step that noise depends on. Calls `sync`, with how many
// have run since the last call, when all have, and at the end if some have.
// Stops at the first error.
absl::Status RoundRobin(absl::Span<Routine> workers,
                        absl::FunctionRef<absl::Status(int n)> sync);

// What RoundRobin of `n_workers` with these static indices would call `sync`
// with, without any work; `n_workers` is at least 1.
absl::Status RoundRobinDryRun(absl::Span<const StaticRef> statics,
                              int n_workers,
                              absl::FunctionRef<absl::Status(int n)> dry_sync);

// RoundRobin of the replicas of all ranks, of which this one has the routines
// `gradients`, one in each context of `replicas`.
// After each round, what the replicas merge of those that ran is merged, the
// owner runs `update` with the static indices of the round's last run, but for
// those without a range, all get its parameters, and `post_sync` is called.
absl::Status ParallelUpdate(absl::Span<Routine> gradients, Routine& update,
                            Replicas& replicas,
                            absl::FunctionRef<absl::Status(int n)> post_sync);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_ROUND_ROBIN_H_
