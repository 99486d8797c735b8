// SPDX-License-Identifier: Apache-2.0
//
// Fit: trains a network on examples, and tells, saves and measures on the way.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       std::unique_ptr<Fitted> fitted,
//       Fit(
//           backend,
//           [](Graph& graph) -> absl::StatusOr<FitNet> {
//             const Mlp mlp({&graph, ""}, {.sizes = {16, 1}});
//             return FitNet{.loss = [=](absl::Span<const Tensor> batch,
//                                       Training*) -> absl::StatusOr<Tensor> {
//               return MeanSquaredError(mlp(batch[0]), batch[1]);
//             }};
//           },
//           {.train = {{"x", array}, {"y", values}}, .batch_size = 10},
//           {.epochs = 20, .rule = AdamW(), .checkpoints = "run"}));
//
// A run that was stopped goes on with the bits that it would have had. The
// arrays of the examples are on the device, and an epoch runs as one loop.
#ifndef OCANNL_TRAIN_FIT_FIT_H_
#define OCANNL_TRAIN_FIT_FIT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/data/batch_order.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/fit/course.h"
#include "ocannl/train/fit/metrics_log.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/loss_scale.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"

namespace ocannl::train {

// By the names of Measures.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// A network, with parameters that are made once, and what is computed with it.
// The tensors of a batch are those of FitData, in order.
struct FitNet {
  // The loss of a batch, of one cell: the mean over its examples.
  std::function<absl::StatusOr<Tensor>(absl::Span<const Tensor> batch,
                                       Training* training)>
      loss;
  // Tensors of one cell, which are averaged over the batches of the tests.
  // Null: nothing is measured.
  std::function<absl::StatusOr<NamedTensors>(absl::Span<const Tensor> batch)>
      measures = nullptr;
  // The output for some inputs, for the caller of Fit. Null: it needs none.
  std::function<absl::StatusOr<Tensor>(Tensor inputs)> predict = nullptr;
};
// Called for each shard, with a graph of its own.
using MakeFitNet = std::function<absl::StatusOr<FitNet>(Graph& graph)>;

// Examples by name: axis 0 is that of the examples. The first `batch_axes`
// axes, 1 or 2, are batch axes: 2 for sequences with a class in each place.
// The others are output axes.
struct FitArray {
  std::string name;
  NdArray values;
  int batch_axes = 1;
};

// Of one length each. Examples that fill no batch are left out: the last ones,
// or with `shuffle` others in each epoch.
struct FitData {
  std::vector<FitArray> train;
  std::vector<FitArray> test = {};
  int64_t batch_size = 1;  // of all shards together
  bool shuffle = false;  // the order of each epoch is of the seed (BatchOrder)
};

struct FitOptions {
  int64_t epochs = 1;
  int64_t epochs_now = 0;  // of this run; 0: all that are left
  absl::StatusOr<UpdateRule> rule = Sgd();
  // The learning rate, a tensor of one cell, by the static index `step`, which
  // ends before `steps` (optim/schedule.h). Null: 0.1.
  std::function<Tensor(Graph& graph, int32_t step, int64_t steps)> rate =
      nullptr;
  uint32_t seed = 1;  // of first values, random numbers and the order
  // What the network computes in: f16 needs a loss scale (optim/loss_scale.h).
  DType dtype = DType::kF32;

  // DataParallelOptions (parallel/data_parallel.h). Other ranks than the first
  // do not print, save or log.
  int64_t shards = 1;
  Communicator* communicator = nullptr;
  int64_t bucket_bytes = 0;

  // A folder with the last 3 checkpoints, to go on from, whatever `load` is.
  // They are saved by CheckpointInterval::Parse(checkpoint_every), or after
  // each epoch.
  std::string checkpoints = "", checkpoint_every = "";
  // A file of `save`, to go on from; where to save at the end: .npz or
  // .safetensors (checkpoint/checkpoint.h). With `save` or `checkpoints`,
  // StopSignals such as Ctrl-C end the training after the step, and what was
  // trained is saved.
  std::string load = "", save = "";
  std::string log = "";  // a file for MetricsLog
  // Of the training, and what decides its course: a checkpoint keeps them, and
  // a run that goes on must have the same. Seed, sizes and epochs are added.
  std::string name = "";
  std::vector<FitSetting> settings = {};
  std::string prefix = "";  // of the names of options in messages, as "--"

  bool quiet = false;  // no lines on stdout, no bar on a terminal
  int64_t lines = 8;   // most epochs that are told of and measured
  // Tells of each step, too. Its loss is read after it, which takes time.
  bool batch_lines = false;
  std::string code = "step";  // name of the step's code, for `explain`
  // Called before the training, which an error stops: by the first rank with
  // the code of a step on one device; after each epoch, with the measures of
  // those that are told of.
  std::function<absl::Status(const Model& model, const Assignments& step)>
      before_training = nullptr;
  std::function<absl::Status(const EpochMetrics& metrics)> after_epoch =
      nullptr;
};

// The code of a training, for those who run it themselves: Fit on one device
// calls Start, and runs `step` for each batch_n and step.
struct FitCode {
  Model model;
  FitNet net;
  Tensor loss{};
  std::vector<Tensor> parameters;  // AllParameters
  Assignments init;                // of states: part of Start
  Assignments step;                // keeps the loss and learning_rate
  Assignments test;                // of the batch test_n; without tests, empty
  NamedTensors measures;
  int64_t batches = 0;              // of an epoch
  std::optional<BatchOrder> order;  // of one that shuffles, in train_order

  // RunInit of the loss and `init`. Errors: those of RunInit.
  absl::StatusOr<Context> Start(const Context& context);
  // Runs `test`, a routine of the code, for all batches. Errors: those of runs.
  absl::StatusOr<Measures> Measure(Routine& test) const;
  // Writes the order of an epoch, from 0, where the training shuffles: `step`
  // needs it.
  absl::Status StartEpoch(const Context& context, int64_t epoch) const;
};

//   OCANNL_ASSIGN_OR_RETURN(
//       std::unique_ptr<FitCode> made,
//       MakeFitCode(make_net, {.train = {{"x", array}}, .batch_size = 10},
//       {}));
//
// Errors: a function that is null; arrays of other lengths, or none; fewer
// examples than a batch; numbers out of range; those of the network and of
// GradUpdate, UpdateStates and ScaledRuleUpdate.
absl::StatusOr<std::unique_ptr<FitCode>> MakeFitCode(const MakeFitNet& make_net,
                                                     const FitData& data,
                                                     const FitOptions& options);

struct FitHistory {
  std::vector<double> rates;   // one a step of this run, on the first rank
  std::vector<double> losses;  // likewise
  // Of all steps, those of runs before this one too.
  std::optional<double> first_loss = {};
  double epoch_sum = 0;     // of the losses of the epoch of the last step
  int64_t epoch_steps = 0;  // how many are in the sum
  int64_t steps_done = 0;
  Measures measures;        // the last ones
  double seconds = 0;       // of this run
  double step_seconds = 0;  // of its steps alone

  double mean_loss() const {  // of the last epoch
    return epoch_sum / static_cast<double>(epoch_steps);
  }
  double us_per_step() const {
    return 1e6 * step_seconds / static_cast<double>(losses.size());
  }
};

// What was trained, on its device.
struct Fitted {
  explicit Fitted(const Backend* backend) : device("host", backend) {}

  Device device;
  Stream stream{&device};
  std::unique_ptr<FitCode> code;
  std::optional<Context> context;  // with the parameters and states
  std::optional<Routine> step, test;
  std::optional<DataParallel> parallel;  // of several shards; then no `step`
  FitHistory history;

  // On which the steps ran, those of the first shard.
  const Stream& step_stream() const {
    return parallel ? parallel->OwnerContext().stream() : stream;
  }
};

// Trains; the example is above. `backend` must outlive what it returns. Errors:
// those of MakeFitCode, of DataParallel::Make with several shards, of files and
// runs; an error of a callback; a file to go on from of another network or
// course, or at its end. Cancelled: a signal stopped the training, and the
// message says where what was trained is.
absl::StatusOr<std::unique_ptr<Fitted>> Fit(const Backend* backend,
                                            const MakeFitNet& make_net,
                                            const FitData& data,
                                            const FitOptions& options);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_FIT_FIT_H_
