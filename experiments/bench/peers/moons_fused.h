// SPDX-License-Identifier: Apache-2.0
//
// The half-moons training step by hand: one fused pass in AVX-512 registers,
// a lane for each hidden unit. What a compiler of the step can hope for.
//
//   FusedMoons moons(arrays);
//   moons.Step(/*batch=*/3, /*step=*/83);   // moons.loss()
#ifndef EXPERIMENTS_BENCH_PEERS_MOONS_FUSED_H_
#define EXPERIMENTS_BENCH_PEERS_MOONS_FUSED_H_

#include "experiments/moons_plain.h"

namespace ocannl {

class FusedMoons {
 public:
  // Whether this processor can run it.
  static bool IsSupported();

  // Begins with the points and parameters of `arrays`.
  explicit FusedMoons(const MoonsArrays& arrays);

  // As PlainMoonsStep, but for the order of sums.
  void Step(int batch, int step);

  float loss() const { return loss_; }

 private:
  static constexpr int kB = kMoonsBatch;
  static constexpr int kH = kMoonsHidden;
  struct Lanes {
    alignas(64) float of[kH];
  };

  void Forward(const float (&x)[kB][2]);
  void OutputLayer(const float (&y)[kB], float rate);
  void HiddenLayers(const float (&x)[kB][2], float rate);

  MoonsArrays arrays_;  // of which x and y stay
  Lanes w1_[2], b1_, b2_, w3_;
  Lanes w2_[kH], w2_transposed_[kH];  // both are kept, both are updated
  // Of a step.
  Lanes h1_[kB], z2_[kB], d_z2_[kB], d_b2_;
  float loss_ = 0;
};

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PEERS_MOONS_FUSED_H_
