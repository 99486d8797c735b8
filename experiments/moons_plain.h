// SPDX-License-Identifier: Apache-2.0
//
// One training step of the half-moons network (2-16-16-1, batches of 10, hinge
// loss, SGD with weight decay) as plain C++ loops, one nest per tensor
// operation.
//
//   MoonsArrays arrays = ...;
//   PlainMoonsStep(/*batch=*/3, /*step=*/83, arrays);   // arrays.loss[0]

#ifndef EXPERIMENTS_MOONS_PLAIN_H_
#define EXPERIMENTS_MOONS_PLAIN_H_

namespace ocannl {

inline constexpr int kMoonsBatches = 80;
inline constexpr int kMoonsBatch = 10;
inline constexpr int kMoonsHidden = 16;
inline constexpr int kMoonsSteps = 6400;

// The arrays that outlive a step, row-major.
struct MoonsArrays {
  float x[kMoonsBatches][kMoonsBatch][2];
  float y[kMoonsBatches][kMoonsBatch];
  float w1[kMoonsHidden][2];
  float b1[kMoonsHidden];
  float w2[kMoonsHidden][kMoonsHidden];
  float b2[kMoonsHidden];
  float w3[kMoonsHidden];
  float loss[1];
};

// Trains on batch `batch` at the learning rate of step `step`, counted from 0.
void PlainMoonsStep(int batch, int step, MoonsArrays& arrays);

}  // namespace ocannl

#endif  // EXPERIMENTS_MOONS_PLAIN_H_
