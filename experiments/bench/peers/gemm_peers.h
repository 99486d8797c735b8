// SPDX-License-Identifier: Apache-2.0
//
// Libraries that multiply matrices: Eigen, and those that this system has of
// OpenBLAS, oneDNN and LIBXSMM. Nothing of them is needed to build this.
#ifndef EXPERIMENTS_BENCH_PEERS_GEMM_PEERS_H_
#define EXPERIMENTS_BENCH_PEERS_GEMM_PEERS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ocannl {

// c[m, n] = a[m, k] b[k, n], row-major.
struct GemmTask {
  int64_t m, n, k;
  const float* a;
  const float* b;
  float* c;
};

struct GemmPeer {
  std::string name;
  // What does the task once; null: the library does not do such a size.
  std::function<std::function<void()>(const GemmTask&)> prepare;
};

struct GemmPeers {
  std::vector<GemmPeer> peers;
  std::vector<std::string> missing;  // which library, and why
};

// Looked for once per program. Those that can use threads use that many; the
// others are missing when it is more than one.
const GemmPeers& FindGemmPeers(int threads);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PEERS_GEMM_PEERS_H_
