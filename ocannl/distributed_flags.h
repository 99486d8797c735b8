// SPDX-License-Identifier: Apache-2.0
//
// The flags of programs that may train in several processes; SETTINGS.md lists
// them.
#ifndef OCANNL_DISTRIBUTED_FLAGS_H_
#define OCANNL_DISTRIBUTED_FLAGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl {

// --distributed and --rank_timeout alone, and with --shards.
const std::vector<Flag>& DistributedFlags();
const std::vector<Flag>& ShardedFlags();

// The ranks of --distributed; null: there is one process. To be called once.
// Errors: a value that is none; those of StartMpi.
absl::StatusOr<std::unique_ptr<train::Communicator>> CommunicatorOf(
    const CommandLine& line);

// DataParallelOptions::bucket_bytes: those of --distributed=mpi:KIB. Error: it
// is no number above 0.
absl::StatusOr<int64_t> BucketBytesOf(const CommandLine& line);

// The number of shards of a batch, by --shards, for those `ranks`; null: one.
// Error: fewer than ranks.
absl::StatusOr<int64_t> ShardsOf(const CommandLine& line,
                                 const train::Communicator* ranks);

// The path, where it is not empty; of processes of mpirun but the first, one of
// their own.
std::string RankPath(const std::string& path);

}  // namespace ocannl

#endif  // OCANNL_DISTRIBUTED_FLAGS_H_
