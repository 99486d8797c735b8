// SPDX-License-Identifier: Apache-2.0
//
// Loops over functions of <cmath> as GCC vectorises them for AVX-512 with
// -ffast-math: it calls glibc's libmvec, whose bound is 4 ulp.
//
//   for (const LibmvecFunction& f : kLibmvecFunctions) f.run(n, x, y);
#ifndef EXPERIMENTS_BENCH_PEERS_LIBMVEC_KERNELS_H_
#define EXPERIMENTS_BENCH_PEERS_LIBMVEC_KERNELS_H_

#include <stdint.h>

namespace ocannl {

// y[i] = function(x[i]) for i < n.
struct LibmvecFunction {
  const char* name;
  void (*run)(int64_t n, const float* x, float* y);
};

inline constexpr int kLibmvecCount = 8;
extern const LibmvecFunction kLibmvecFunctions[kLibmvecCount];

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PEERS_LIBMVEC_KERNELS_H_
