// SPDX-License-Identifier: Apache-2.0
//
// Eigen's way of doing some workloads, compiled once for AVX2 and once for
// AVX-512: Eigen chooses its instructions at compile time.
//
//   if (const EigenKernels* eigen = FindEigenKernels()) eigen->gemm(...);
//
// Plain C types only: what the two compilations have in common must not be
// templates that the linker might take from the wrong one.
#ifndef EXPERIMENTS_BENCH_PEERS_EIGEN_KERNELS_H_
#define EXPERIMENTS_BENCH_PEERS_EIGEN_KERNELS_H_

#include <stdint.h>

namespace ocannl {

struct EigenMlp;

// Everything is row-major.
struct EigenKernels {
  // c[m, n] = a[m, k] b[k, n]
  void (*gemm)(int64_t m, int64_t n, int64_t k, const float* a, const float* b,
               float* c);

  // y = function(x), of a [rows, columns] matrix.
  struct Function {
    const char* name;
    void (*run)(int64_t rows, int64_t columns, const float* x, float* y);
  };
  const Function* functions;  // ends with a null name

  // Training of an MLP with ReLU, a mean of squares as loss and a fixed rate:
  // layer l has weights w[l] of [sizes[l + 1], sizes[l]] and biases b[l], but
  // for the last. They are copied, x and y are not.
  EigenMlp* (*new_mlp)(int layers, const int64_t* sizes, int64_t batch,
                       float rate, const float* x, const float* y,
                       const float* const* w, const float* const* b);
  void (*delete_mlp)(EigenMlp* mlp);
  float (*mlp_step)(EigenMlp* mlp);  // gives the loss
};

extern const EigenKernels kEigenAvx2;
extern const EigenKernels kEigenAvx512;

// For this processor; null: it has no AVX2.
inline const EigenKernels* FindEigenKernels() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    return &kEigenAvx512;
  }
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return avx2 ? &kEigenAvx2 : nullptr;
}

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PEERS_EIGEN_KERNELS_H_
