// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/step_time.h"

#include <algorithm>
#include <vector>

#include "ocannl/core/base/check.h"
#include "ocannl/train/parallel/replicas.h"

namespace ocannl {

double StepSeconds(const StepCost& cost, const Network& network, int ranks,
                   int buckets) {
  CHECK(ranks >= 1 && buckets >= 1);
  const auto parts = static_cast<double>(buckets);
  // At least one message for each bucket.
  const double messages = std::max(cost.arrays, parts);
  const double whole = messages * network.seconds_per_message +
                       cost.bytes * network.seconds_per_byte;
  const double added = cost.bytes * network.seconds_per_byte_added;
  std::vector<double> clock(ranks, 0);  // of the threads that merge
  auto exchange = [&](int from, int to, double seconds) {
    clock[from] = clock[to] = std::max(clock[from], clock[to]) + seconds;
  };
  for (int bucket = 0; bucket < buckets; ++bucket) {
    const double ready =
        cost.forward_seconds + cost.backward_seconds * (bucket + 1) / parts;
    for (double& at : clock) at = std::max(at, ready);
    for (const auto& [from, to] : train::ParallelMerge(ranks)) {
      exchange(from, to, whole / parts);
      clock[to] += added / parts;
    }
  }
  clock[0] += cost.update_seconds;
  const double broadcast = cost.arrays * network.seconds_per_message +
                           cost.bytes * network.seconds_per_byte;
  for (int step = 1; step < ranks; step *= 2) {  // as Broadcast does
    for (int rank = 0; rank < step && rank + step < ranks; ++rank) {
      exchange(rank, rank + step, broadcast);
    }
  }
  return *std::max_element(clock.begin(), clock.end());
}

}  // namespace ocannl
