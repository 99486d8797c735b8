// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads of a test.
#ifndef TESTS_SUPPORT_RANKS_H_
#define TESTS_SUPPORT_RANKS_H_

#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ocannl/train/distributed/in_process.h"

namespace ocannl {

// What `work` returns on each of `count` ranks, all at once.
inline std::vector<absl::Status> OnRanks(
    int count, absl::FunctionRef<absl::Status(train::Communicator& rank)> work,
    const train::Delays& delays = {}) {
  auto ranks = train::InProcessRanks(count, delays);
  std::vector<absl::Status> results(count);
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k) {
    threads.emplace_back([&, k] {
      results[k] = work(*ranks[k]);
      ranks[k].reset();  // nobody waits for it any longer
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace ocannl

#endif  // TESTS_SUPPORT_RANKS_H_
