// SPDX-License-Identifier: Apache-2.0
//
// What kRankFlags and kShardFlags choose: training in several processes.
#ifndef OCANNL_FLAGS_RANKS_H_
#define OCANNL_FLAGS_RANKS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl {

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

#endif  // OCANNL_FLAGS_RANKS_H_
