// SPDX-License-Identifier: Apache-2.0
//
// Cublas: products by NVIDIA's library, where the machine has it, in f32
// without TF32 (https://docs.nvidia.com/cuda/cublas).
//
//   OCANNL_ASSIGN_OR_RETURN(Cublas cublas, Cublas::Open());
//   OCANNL_RETURN_IF_ERROR(cublas.Multiply(m, n, k, a, b, c));
//   OCANNL_RETURN_IF_ERROR(cublas.Synchronize());
#ifndef EXPERIMENTS_BENCH_PEERS_CUBLAS_H_
#define EXPERIMENTS_BENCH_PEERS_CUBLAS_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ocannl {

class Cublas {
 public:
  // Of the GPU whose context this thread has. Error: no library.
  static absl::StatusOr<Cublas> Open();

  // Begins c = a b; row-major m x k, k x n and m x n in the memory of the GPU.
  absl::Status Multiply(int m, int n, int k, const std::byte* a,
                        const std::byte* b, std::byte* c) const;

  // Returns when all is done.
  absl::Status Synchronize() const;

 private:
  struct Functions;

  std::shared_ptr<const Functions> functions_;
};

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PEERS_CUBLAS_H_
