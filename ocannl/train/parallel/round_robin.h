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

// SequentialLoop over the static indices of workers[0], but each combination of
// values runs on the next of the `workers`. There is at least one worker, and
// all have the same indices. Each keeps its own values of indices without a
// range, such as the step of random numbers. `sync` gets the number of runs
// since its last call: after each round of all workers, and at the end if some
// runs remain. Stops at the first error.
absl::Status RoundRobin(absl::Span<Routine> workers,
                        absl::FunctionRef<absl::Status(int n)> sync);

// RoundRobin of the replicas of all ranks. This rank has the routines
// `gradients`, one in each context of `replicas`. After each round, the
// gradients of the replicas that ran are merged. Then the owner runs `update`,
// with the static indices of the round's last run except those without a range.
// All replicas get its parameters, and `post_sync` is called.
absl::Status ParallelUpdate(absl::Span<Routine> gradients, Routine& update,
                            Replicas& replicas,
                            absl::FunctionRef<absl::Status(int n)> post_sync);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_ROUND_ROBIN_H_
