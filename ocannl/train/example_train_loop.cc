// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/example_train_loop.h"

#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/wide.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/option_check.h"
#include "ocannl/train/parallel/replicas.h"
#include "ocannl/train/parallel/round_robin.h"
#include "ocannl/train/run.h"

namespace ocannl::train {
namespace {

class Training {
 public:
  Training(VirtualDevices& devices, const ExampleTrainOptions& options)
      : devices_(devices), options_(options) {}

  absl::Status CountBatches() {
    OCANNL_ASSIGN_OR_RETURN(const int64_t count,
                            CountReplicas(static_cast<int>(devices_.size()),
                                          options_.communicator));
    if (options_.batch_size < 1 || options_.batch_size % count != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the batch size is ", options_.batch_size, ", which ", count,
          " devices do not divide; change it, or take fewer devices"));
    }
    minibatch_ = options_.batch_size / count;
    batches_ = options_.data_len / minibatch_;
    if (batches_ > 0 && options_.epochs > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(options_.data_len, " examples and ", options_.epochs,
                     " epochs are no training in minibatches of ", minibatch_));
  }

  void Build(const MakeExamples& inputs, const MakeExamples& outputs,
             const std::function<Net(Graph&)>& make_net,
             const std::function<Tensor(Tensor, Tensor)>& loss_fn) {
    Graph& graph = result_->model.graph;
    graph.set_seed(options_.seed);
    const int32_t batch_n = graph.AddStatic("batch_n", batches_);
    const int32_t step_n = graph.AddStatic("step_n", std::nullopt);
    result_->inputs = inputs(graph, {batches_, minibatch_});
    result_->outputs = outputs(graph, {batches_, minibatch_});
    net_ = WithSharedParams(make_net(graph));
    const Tensor loss = loss_fn(net_(Slice(result_->inputs, batch_n)),
                                Slice(result_->outputs, batch_n));
    const DType dtype = DecidedDType(loss);
    const Tensor mean = Einsum1("...|... => 0", Widened(loss)) /
                        static_cast<double>(options_.batch_size);
    result_->loss = Named(InDType(mean, dtype), "scalar_loss");
    const auto steps = static_cast<double>(options_.epochs * batches_);
    rate_ = Named(options_.lr_schedule
                      ? options_.lr_schedule(graph, batch_n, step_n)
                      : options_.init_lr *
                            (2 * steps - EmbedSymbol(graph, step_n)) / steps,
                  "learning_rate");
  }

  absl::Status Link() {
    Model& model = result_->model;
    OCANNL_ASSIGN_OR_RETURN(
        Updaten updaten,
        MakeUpdaten(model, result_->loss, {.setup_for_parallel = true}));
    OCANNL_ASSIGN_OR_RETURN(UpdateCode sgd,
                            SgdUpdate(model, result_->loss, rate_,
                                      {.weight_decay = options_.weight_decay}));
    OCANNL_ASSIGN_OR_RETURN(const std::vector<Tensor> trained,
                            KeepGradients(updaten.params, sgd.update));
    std::vector<Context> contexts;
    for (size_t k = 0; k < devices_.size(); ++k) {
      contexts.push_back(devices_[k].context);
    }
    OCANNL_RETURN_IF_ERROR(
        RunInit(model, result_->loss, std::move(sgd.init), contexts[0])
            .status());
    OCANNL_ASSIGN_OR_RETURN(gradients_,
                            ToRoutines(contexts, updaten.fwd_bprop, {}));
    OCANNL_ASSIGN_OR_RETURN(update_, ToRoutine(contexts[0], sgd.update, {}));
    OCANNL_ASSIGN_OR_RETURN(
        replicas_, Replicas::Make(model, AllParameters(model, result_->loss),
                                  trained, std::move(contexts),
                                  {.loss = result_->loss,
                                   .communicator = options_.communicator}));
    replicas_->set_copy_to_merge(options_.copy_to_merge);
    OCANNL_RETURN_IF_ERROR(BuildInfer());
    return replicas_->SyncRanks();
  }

  absl::Status Train() {
    int64_t step = 0;
    double epoch_loss = 0;
    double rate = 0;
    auto post_sync = [&](int count) -> absl::Status {
      step += count;
      double loss = 0;
      OCANNL_RETURN_IF_ERROR(ReadLossAndRate(loss, rate));
      epoch_loss += loss;
      result_->batch_losses.push_back(loss);
      if (options_.per_batch_callback) {
        const int64_t batch = (step - 1) % batches_;
        options_.per_batch_callback({batch, step, rate, loss, epoch_loss});
      }
      return SetStep(step);
    };
    OCANNL_RETURN_IF_ERROR(SetStep(0));
    for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
      epoch_loss = 0;
      OCANNL_RETURN_IF_ERROR(ParallelUpdate(absl::MakeSpan(gradients_),
                                            *update_, *replicas_, post_sync));
      result_->learning_rates.push_back(rate);
      result_->epoch_losses.push_back(epoch_loss);
      if (options_.per_epoch_callback) {
        options_.per_epoch_callback({step, epoch, rate, epoch_loss});
      }
    }
    return replicas_->SyncRanks();
  }

  absl::Status MakeInfer() {
    OCANNL_ASSIGN_OR_RETURN(
        Predictor predictor,
        Predictor::Make(result_->model, result_->model_result, {infer_},
                        devices_[0].context));
    result_->predictor.emplace(std::move(predictor));
    return absl::OkStatus();
  }

  std::unique_ptr<TrainedExample> Finish() && { return std::move(result_); }

 private:
  // The network on one example, whose errors are told before the training.
  absl::Status BuildInfer() {
    Model& model = result_->model;
    OCANNL_RETURN_IF_ERROR(
        InferShapes(model.graph, {result_->inputs.id}, model.shapes));
    Shape shape = model.shapes.at(result_->inputs.id);
    shape[RowKind::kBatch] = {};
    infer_ = Data(model.graph, "infer",
                  NdArray(result_->inputs.node().dtype, shape.dims()),
                  SpecOf(shape));
    result_->model_result = Named(net_(infer_), "model_result");
    return InferShapes(model.graph, {result_->model_result.id}, model.shapes);
  }

  // Of the update, and of the replicas' gradients: noise of none is that of
  // another. Code that does not depend on the step does not know it.
  absl::Status SetStep(int64_t step) {
    auto set = [](Routine& routine, int64_t value) {
      absl::Status status = routine.Set("step_n", value);
      return absl::IsNotFound(status) ? absl::OkStatus() : status;
    };
    for (int replica = 0; replica < replicas_->count(); ++replica) {
      const std::optional<int> here = replicas_->Here(replica);
      if (here) OCANNL_RETURN_IF_ERROR(set(gradients_[*here], step + replica));
    }
    return set(*update_, step);
  }

  // The owner's, of the last step.
  absl::Status ReadLossAndRate(double& loss, double& rate) const {
    std::array<double, 2> values = {};
    if (replicas_->Here(0)) {
      const Context& owner = devices_[0].context;
      OCANNL_ASSIGN_OR_RETURN(NdArray read,
                              owner.Read(result_->loss.node().name));
      values[0] = read.AsDouble(0);
      OCANNL_ASSIGN_OR_RETURN(read, owner.Read(rate_.node().name));
      values[1] = read.AsDouble(0);
    }
    if (options_.communicator != nullptr) {
      OCANNL_RETURN_IF_ERROR(
          Broadcast(*options_.communicator,
                    absl::MakeSpan(reinterpret_cast<std::byte*>(values.data()),
                                   sizeof(values))));
    }
    std::tie(loss, rate) = std::tie(values[0], values[1]);
    return absl::OkStatus();
  }

  VirtualDevices& devices_;
  const ExampleTrainOptions& options_;
  std::unique_ptr<TrainedExample> result_ = std::make_unique<TrainedExample>();
  int64_t minibatch_ = 0;
  int64_t batches_ = 0;  // minibatches of an epoch
  Tensor rate_{}, infer_{};
  Net net_;
  std::vector<Routine> gradients_;
  std::optional<Routine> update_;
  std::optional<Replicas> replicas_;
};

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
  Training training(devices, options);
  OCANNL_RETURN_IF_ERROR(training.CountBatches());
  training.Build(inputs, outputs, make_net, loss_fn);
  OCANNL_RETURN_IF_ERROR(training.Link());
  OCANNL_RETURN_IF_ERROR(training.Train());
  OCANNL_RETURN_IF_ERROR(training.MakeInfer());
  return std::move(training).Finish();
}

}  // namespace ocannl::train
