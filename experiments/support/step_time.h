// SPDX-License-Identifier: Apache-2.0
//
// StepSeconds: how long a step of DataParallel takes on so many ranks: a
// simulation of its messages, with the linear cost model of a message (latency
// and bytes: Hockney 1994).
//
//   for (int ranks = 1; ranks <= 1024; ranks *= 2) StepSeconds(gpt2, tcp,
//   ranks)
#ifndef EXPERIMENTS_SUPPORT_STEP_TIME_H_
#define EXPERIMENTS_SUPPORT_STEP_TIME_H_

#include <cstdint>

namespace ocannl {

// Of one rank, whatever the number of them: each has as many examples.
struct StepCost {
  double forward_seconds = 0;
  double backward_seconds = 0;
  double update_seconds = 0;
  double bytes = 0;   // of the parameters, and of their gradients
  double arrays = 1;  // which these are, with a message each
};

struct Network {
  double seconds_per_message = 0;
  double seconds_per_byte = 0;
  double seconds_per_byte_added = 0;  // to merge what has come
};

// The forward and the backward pass, in which the gradients become ready in
// `buckets` of one size, one after the other; the merges of each bucket in the
// order of ParallelMerge (ocannl/train/parallel/replicas.h), on a thread of
// their own, after those of the bucket before; rank 0's update; and the
// broadcast of the parameters. With one bucket, nothing overlaps. There are at
// least one rank and one bucket.
double StepSeconds(const StepCost& cost, const Network& network, int ranks,
                   int buckets);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_STEP_TIME_H_
