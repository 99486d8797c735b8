// SPDX-License-Identifier: Apache-2.0
//
// The half-moons network and its training code: an MLP with ReLU, trained on
// batches of points with the hinge loss, SGD and weight decay.
//
//   loss = sum over the batch of relu(1 - y * mlp(x)) / batch_size
#ifndef EXPERIMENTS_MOONS_MODEL_H_
#define EXPERIMENTS_MOONS_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/moons_data.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/train/model.h"

namespace ocannl {

struct MoonsOptions {
  std::vector<int64_t> hidden = {16, 16};  // sizes of the hidden layers
  int64_t batch_size = 10;
  int64_t epochs = 80;
  double weight_decay = 1e-4;
  uint32_t seed = 1;  // of the parameters' first values
  // What the network computes and stores, but its parameters, which are f32.
  DType dtype = DType::kF32;
};

struct MoonsModel {
  train::Model model;
  Tensor loss{};
  std::vector<Tensor> parameters;
  Assignments init;  // gives the parameters their first values
  // One step; its static indices are batch_n and step. Keeps the values of
  // scalar_loss and learning_rate, which falls from 0.2 to 0.1.
  Assignments step;
  int64_t steps;  // of all epochs
};

// Builds the model over all whole batches of `points`. Error: fewer points
// than a batch.
absl::StatusOr<std::unique_ptr<MoonsModel>> MakeMoons(
    const LabelledPoints& points, const MoonsOptions& options);

// The code that gives each of the [n, 2] `coordinates` its score: the sign is
// the class. The scores, [n, 1], are kept in the array `name`.
absl::StatusOr<Assignments> ScorePoints(MoonsModel& moons,
                                        const MoonsOptions& options,
                                        const std::vector<float>& coordinates,
                                        const std::string& name);

}  // namespace ocannl

#endif  // EXPERIMENTS_MOONS_MODEL_H_
