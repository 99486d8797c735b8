// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/example_train_loop.h"

#include <utility>

#include "absl/memory/memory.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/wide.h"
#include "ocannl/train/graph/option_check.h"
#include "ocannl/train/parallel/replicas.h"

namespace ocannl::train {
namespace {

struct Counts {
  int devices;        // of all ranks
  int64_t minibatch;  // examples
  int64_t batches;    // minibatches of an epoch
};

absl::StatusOr<Counts> CountBatches(const VirtualDevices& devices,
                                    const ExampleTrainOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(
      const int count,
      CountReplicas(static_cast<int>(devices.size()), options.communicator));
  if (options.batch_size < 1 || options.batch_size % count != 0) {
    return UserError("the batch size is ", options.batch_size, ", which ",
                     count, " devices do not divide; change it, or take fewer ",
                     "devices");
  }
  const int64_t minibatch = options.batch_size / count;
  const int64_t batches = options.data_len / minibatch;
  if (batches < 1 || options.epochs < 1) {
    return UserError(options.data_len, " examples and ", options.epochs,
                     " epochs are no training in minibatches of ", minibatch);
  }
  return Counts{count, minibatch, batches};
}

// The network on one example. Its errors are told before the training.
absl::Status MakePredictor(const Net& net, TrainedExample& trained) {
  Model& model = trained.model;
  OCANNL_RETURN_IF_ERROR(
      InferShapes(model.graph, {trained.inputs.id}, model.shapes));
  Shape shape = model.shapes.at(trained.inputs.id);
  shape[RowKind::kBatch] = {};
  const Tensor infer =
      Data(model.graph, "infer",
           NdArray(trained.inputs.node().dtype, shape.dims()), SpecOf(shape));
  trained.model_result = Named(net(infer), "model_result");
  OCANNL_ASSIGN_OR_RETURN(trained.predictor,
                          Predictor::Make(model, trained.model_result, {infer},
                                          trained.parallel.OwnerContext()));
  return absl::OkStatus();
}

absl::Status Train(const ExampleTrainOptions& options, int64_t batches,
                   Tensor rate, TrainedExample& trained) {
  DataParallel& parallel = trained.parallel;
  int64_t step = 0;
  double epoch_loss = 0;
  struct {
    double loss, rate;
  } now = {};  // on all ranks
  auto set_step = [&] {
    const absl::Status set = parallel.Set("step_n", step);
    // Nothing may depend on it.
    return absl::IsNotFound(set) ? absl::OkStatus() : set;
  };
  auto after_round = [&](int count) -> absl::Status {
    step += count;
    if (parallel.has_owner()) {
      OCANNL_ASSIGN_OR_RETURN(now.loss, parallel.OwnerLossValue());
      OCANNL_ASSIGN_OR_RETURN(const NdArray value, parallel.ReadValues(rate));
      now.rate = value.AsDouble(0);
    }
    OCANNL_RETURN_IF_ERROR(BroadcastValue(options.communicator, now));
    epoch_loss += now.loss;
    trained.batch_losses.push_back(now.loss);
    if (options.per_batch_callback) {
      options.per_batch_callback(
          {(step - 1) % batches, step, now.rate, now.loss, epoch_loss});
    }
    return set_step();
  };
  OCANNL_RETURN_IF_ERROR(set_step());
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    epoch_loss = 0;
    OCANNL_RETURN_IF_ERROR(parallel.RunRounds(after_round));
    trained.learning_rates.push_back(now.rate);
    trained.epoch_losses.push_back(epoch_loss);
    if (options.per_epoch_callback) {
      options.per_epoch_callback({step, epoch, now.rate, epoch_loss});
    }
  }
  return parallel.SyncRanks();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainedExample>> ExampleTrainLoop(
    VirtualDevices& devices, const ExampleTrainOptions& options,
    const MakeExamples& inputs, const MakeExamples& outputs,
    const std::function<Net(Graph& graph)>& make_net,
    const std::function<Tensor(Tensor output, Tensor expectation)>& loss_fn) {
  OCANNL_RETURN_IF_ERROR(CheckGiven(
      "ExampleTrainLoop", {{"function of the inputs", inputs != nullptr},
                           {"function of the outputs", outputs != nullptr},
                           {"function of the network", make_net != nullptr},
                           {"function of the loss", loss_fn != nullptr}}));
  OCANNL_ASSIGN_OR_RETURN(const Counts counts, CountBatches(devices, options));
  Tensor x{}, y{}, loss{}, rate{};
  Net net;
  auto loss_of = [&](Model& model, auto) -> absl::StatusOr<Tensor> {
    Graph& graph = model.graph;
    const int32_t batch_n = graph.AddStatic("batch_n", counts.batches);
    const int32_t step_n = graph.AddStatic("step_n", std::nullopt);
    x = inputs(graph, {counts.batches, counts.minibatch});
    y = outputs(graph, {counts.batches, counts.minibatch});
    net = WithSharedParams(make_net(graph));
    const Tensor cells = loss_fn(net(Slice(x, batch_n)), Slice(y, batch_n));
    const DType dtype = DecidedDType(cells);
    const Tensor mean = Einsum1("...|... => 0", Widened(cells)) /
                        static_cast<double>(options.batch_size);
    loss = Named(InDType(mean, dtype), "scalar_loss");
    const auto steps = static_cast<double>(options.epochs * counts.batches);
    rate = Named(options.lr_schedule
                     ? options.lr_schedule(graph, batch_n, step_n)
                     : options.init_lr *
                           (2 * steps - EmbedSymbol(graph, step_n)) / steps,
                 "learning_rate");
    return loss;
  };
  auto update_of = [&](Model& model, Tensor, auto&) {
    return RuleUpdate(model, loss, rate, options.rule);
  };
  OCANNL_ASSIGN_OR_RETURN(
      DataParallel parallel,
      DataParallel::Make(&devices[0].device.backend(),
                         {.policy = Policy::kRoundRobin,
                          .n_shards = counts.devices,
                          // Each loss is over the batch of all devices.
                          .reduction = Reduction::kSum,
                          .base_seed = options.seed,
                          .devices = &devices,
                          .communicator = options.communicator,
                          .merge_loss = true,
                          .copy_to_merge = options.copy_to_merge},
                         {}, loss_of, update_of));
  auto trained =
      absl::WrapUnique(new TrainedExample{.parallel = std::move(parallel),
                                          .inputs = x,
                                          .outputs = y,
                                          .loss = loss});
  OCANNL_RETURN_IF_ERROR(MakePredictor(net, *trained));
  OCANNL_RETURN_IF_ERROR(Train(options, counts.batches, rate, *trained));
  return trained;
}

}  // namespace ocannl::train
