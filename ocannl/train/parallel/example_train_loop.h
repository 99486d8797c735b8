// SPDX-License-Identifier: Apache-2.0
//
// ExampleTrainLoop: trains a network by a loss, on all available devices. The
// batches of an epoch go to the devices in turn; each computes a part of the
// batch, and their gradients and losses are merged.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       auto trained,
//       train::ExampleTrainLoop(
//           devices, {.batch_size = 20, .data_len = 800, .epochs = 10},
//           [&](Graph& graph, const Dims& batch) { ... },   // inputs
//           [&](Graph& graph, const Dims& batch) { ... },   // outputs
//           [](Graph& graph) {
//             return train::Mlp({&graph, "net"}, {.sizes = {16, 1}});
//           },
//           [](Tensor output, Tensor expectation) { ... }));
//   OCANNL_ASSIGN_OR_RETURN(NdArray y, trained->Infer(x));
#ifndef OCANNL_TRAIN_PARALLEL_EXAMPLE_TRAIN_LOOP_H_
#define OCANNL_TRAIN_PARALLEL_EXAMPLE_TRAIN_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "ocannl/train/run/predict.h"

namespace ocannl::train {

// After a batch, of all devices.
struct BatchReport {
  int64_t at_batch;  // the last minibatch of it in the epoch
  int64_t at_step;   // minibatches so far
  double learning_rate, batch_loss, epoch_loss;
};

struct EpochReport {
  int64_t at_step, at_epoch;
  double learning_rate, epoch_loss;
};

struct ExampleTrainOptions {
  uint32_t seed = 42;
  int64_t batch_size = 1;  // of all devices together, those of other ranks too
  double init_lr = 0.1;
  // The rate as a tensor of one cell of two static indices, the minibatch and
  // the step; null: init_lr (2 steps - step) / steps.
  std::function<Tensor(Graph& graph, int32_t batch_n, int32_t step_n)>
      lr_schedule = nullptr;
  int64_t data_len = 1;  // examples; those that fill no minibatch are left out
  int64_t epochs = 1;
  absl::StatusOr<UpdateRule> rule = Sgd();
  bool copy_to_merge = false;  // as in ReplicasOptions
  // Of several processes that do the same on devices of their own, dealt as
  // ReplicasHere says (parallel/replicas.h); null: this one is alone.
  Communicator* communicator = nullptr;
  std::function<void(const BatchReport&)> per_batch_callback = nullptr;
  std::function<void(const EpochReport&)> per_epoch_callback = nullptr;
};

// Of the examples as tensors of Data(), whose batch axes are `batch`, the
// number of minibatches and their size.
using MakeExamples = std::function<Tensor(Graph& graph, const Dims& batch)>;

// A network whose parameters are in a graph, for any number of calls: they are
// there already, or the first call makes them (WithSharedParams).
using Net = std::function<Tensor(Tensor input)>;

// What training ends with. The devices and the communicator must outlive it.
struct TrainedExample {
  // The output of the model for one example, of the dims of an input without
  // its batch axes. Errors: those of Predictor::Predict.
  absl::StatusOr<NdArray> Infer(const NdArray& example) {
    return predictor->Predict({example});
  }

  DataParallel parallel;
  Tensor inputs, outputs, loss, model_result{};
  Model& model = parallel.OwnerModel();
  std::vector<double> batch_losses = {};    // a batch of all devices each
  std::vector<double> epoch_losses = {};    // their sums
  std::vector<double> learning_rates = {};  // at the end of each epoch
  std::optional<Predictor> predictor = {};
};

// Trains by DataParallel, whose replicas take turns. The network is called
// twice: for the minibatches and for TrainedExample::Infer. The loss is the sum
// of the cells of `loss_fn`, divided by the batch size. Errors: a batch that
// the devices do not divide; fewer examples than a minibatch; those of shapes,
// code, runs and messages.
absl::StatusOr<std::unique_ptr<TrainedExample>> ExampleTrainLoop(
    VirtualDevices& devices, const ExampleTrainOptions& options,
    const MakeExamples& inputs, const MakeExamples& outputs,
    const std::function<Net(Graph& graph)>& make_net,
    const std::function<Tensor(Tensor output, Tensor expectation)>& loss_fn);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_EXAMPLE_TRAIN_LOOP_H_
