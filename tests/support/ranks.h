// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads of a test.
//
//   OnRanks(4, [](train::Communicator& rank) { return Train(rank); });
#ifndef TESTS_SUPPORT_RANKS_H_
#define TESTS_SUPPORT_RANKS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl {

struct Delays {
  uint64_t seed = 0;
  int most_microseconds = 0;  // a thread sleeps before a message
};

// One communicator for each of `count` ranks, at least one, each for one
// thread. Send returns at once. A rank is gone when its communicator is
// destroyed.
std::vector<std::unique_ptr<train::Communicator>> InProcessRanks(
    int count, const Delays& delays = {});

// What `work` returns on each of `count` ranks, all at once.
std::vector<absl::Status> OnRanks(
    int count, absl::FunctionRef<absl::Status(train::Communicator& rank)> work,
    const Delays& delays = {});

}  // namespace ocannl

#endif  // TESTS_SUPPORT_RANKS_H_
