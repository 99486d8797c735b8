// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are processes of MPI, on one machine or many: those that mpirun
// starts.
//
//   mpirun -n 4 bazel-bin/experiments/moons_parallel --distributed=mpi
//
// Open MPI's library is found when it is asked for: programs need none to be
// built, or to run alone.
#ifndef OCANNL_TRAIN_DISTRIBUTED_MPI_H_
#define OCANNL_TRAIN_DISTRIBUTED_MPI_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl::train {

struct MpiOptions {
  // How long a rank waits for another one before it ends all; infinity: always.
  // It is more than the longest time between two messages: evaluating, saving
  // and compiling on one rank count.
  double most_seconds = 300;
};

// All processes of this mpirun; without one, this process alone. To be called
// once in a process; what it returns ends MPI when it is destroyed, which waits
// for the other ranks. Its functions may be called by one thread after the
// other. Where a process dies, mpirun ends the others. Where one hangs, those
// that wait for it end all processes, and say which one it is. Errors: no
// library, or one that is not Open MPI's; MPI does not start; a time that is
// not above 0.
//
//   OCANNL_ASSIGN_OR_RETURN(auto ranks, StartMpi({.most_seconds = 60}));
absl::StatusOr<std::unique_ptr<Communicator>> StartMpi(
    const MpiOptions& options = {});

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DISTRIBUTED_MPI_H_
