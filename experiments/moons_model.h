// SPDX-License-Identifier: Apache-2.0
//
// The half-moons network: an MLP with ReLU, trained on batches of points with
// the hinge loss, SGD and weight decay.
//
//   loss = sum over the batch of relu(1 - y * mlp(x)) / batch_size
#ifndef EXPERIMENTS_MOONS_MODEL_H_
#define EXPERIMENTS_MOONS_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/moons_data.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/train/fit/fit.h"
#include "ocannl/train/parallel/example_train_loop.h"

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

// The network, its batches, and how it is trained: at a learning rate that
// falls from 0.2 to 0.1. The loss is the array scalar_loss.
train::MakeFitNet MoonsNet(const MoonsOptions& options);
train::FitData MoonsData(const LabelledPoints& points, int64_t batch_size);
train::FitOptions MoonsFit(const MoonsOptions& options);

// MakeFitCode of the three.
absl::StatusOr<std::unique_ptr<train::FitCode>> MakeMoons(
    const LabelledPoints& points, const MoonsOptions& options);

// The score of each of the [n, 2] `coordinates`, [n, 1]: the sign is the class.
absl::StatusOr<NdArray> Scores(train::Fitted& moons,
                               const std::vector<float>& coordinates);

// The share of the scores that have the sign of their label.
double Accuracy(const NdArray& scores, const std::vector<float>& labels);

// The network with sizes 16, 16 and 1 and the same loss, by ExampleTrainLoop,
// on several devices. Errors: those of ExampleTrainLoop, and of Predictor.
absl::StatusOr<std::unique_ptr<train::TrainedExample>> TrainInParallel(
    VirtualDevices& devices, const train::ExampleTrainOptions& options,
    const LabelledPoints& points);
absl::StatusOr<double> Accuracy(train::TrainedExample& trained,
                                const LabelledPoints& points);

}  // namespace ocannl

#endif  // EXPERIMENTS_MOONS_MODEL_H_
