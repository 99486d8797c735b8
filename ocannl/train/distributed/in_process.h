// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads of one process: for tests.
//
//   auto ranks = InProcessRanks(4);
//   std::thread([&] { Train(*ranks[3]); ranks[3].reset(); });
#ifndef OCANNL_TRAIN_DISTRIBUTED_IN_PROCESS_H_
#define OCANNL_TRAIN_DISTRIBUTED_IN_PROCESS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ocannl/train/distributed/communicator.h"

namespace ocannl::train {

struct Delays {
  uint64_t seed = 0;
  int most_microseconds = 0;  // a thread sleeps before a message
};

// One communicator for each rank, at least one, each for one thread. Send
// returns at once. A rank is gone when its communicator is destroyed.
std::vector<std::unique_ptr<Communicator>> InProcessRanks(
    int ranks, const Delays& delays = {});

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DISTRIBUTED_IN_PROCESS_H_
