// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/supervised.h"

#include <string>
#include <utility>

#include "experiments/nets/supervised_code.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/sequential_loop.h"

namespace ocannl {
namespace {

// The share of the targets whose logit is the greatest.
Tensor Hits(Tensor logits, Tensor targets) {
  Tensor theirs = Einsum("...|v; ...|v => ...|", logits, targets);
  Tensor hits =
      Convert(Equal(theirs, EinMax1("...|v => ...|", logits)), DType::kF32);
  return Einsum1("...| => |0", hits) / EmbedDim(hits, {RowKind::kBatch});
}

absl::Status AddTest(const Lessons& lessons, const Net& net, int64_t batch_size,
                     Supervised& result) {
  Batches batches(result.model.graph, lessons.test, "test", batch_size);
  OCANNL_RETURN_IF_ERROR(batches.Check());
  const Batch batch = batches.At("test_n", /*shuffles=*/false);
  Tensor logits = InDType(net(batch.inputs, train::kInference), DType::kF32);
  Tensor targets = Targets(batch.classes, lessons.classes);
  for (Tensor kept : {logits, targets}) {
    OCANNL_RETURN_IF_ERROR(SetMemoryMode(kept, MemoryMode::kMaterialized));
  }
  Tensor loss = Named(train::CrossEntropy(logits, targets, {}), "test_loss");
  Tensor hits = Named(Hits(logits, targets), "test_hits");
  OCANNL_ASSIGN_OR_RETURN(Assignments first,
                          train::Forward(result.model, loss));
  OCANNL_ASSIGN_OR_RETURN(Assignments second,
                          train::Forward(result.model, hits));
  result.test = train::Sequence("test", {first, second});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Supervised>> MakeSupervised(
    const Lessons& lessons, const MakeNet& make_net,
    const SupervisedOptions& options) {
  auto result = std::make_unique<Supervised>();
  train::Model& model = result->model;
  Graph& graph = model.graph;
  graph.set_seed(options.seed);
  Batches batches(graph, lessons.train, "train", options.batch_size);
  OCANNL_RETURN_IF_ERROR(batches.Check());
  const Batch batch = batches.At("batch_n", options.shuffle);
  train::Training training{.step = graph.AddStatic("step", std::nullopt)};
  const Net net = result->net = make_net(ScopeOf(graph, options));
  const Tensor loss = TrainingLoss(net, batch, lessons.classes, &training);
  OCANNL_ASSIGN_OR_RETURN(const std::optional<train::LossScale> scale,
                          train::LossScaleFor(options.dtype, model));
  OCANNL_ASSIGN_OR_RETURN(
      Assignments gradient,
      train::GradUpdate(model, loss, {.scaled_by = train::TensorOf(scale)}));
  OCANNL_ASSIGN_OR_RETURN(
      train::UpdateCode update,
      TrainingUpdate(model, loss, training, options,
                     options.epochs * batches.count(), scale));
  OCANNL_ASSIGN_OR_RETURN(Assignments init, train::InitParams(model, loss));
  result->init = train::Sequence("init", {init, update.init});
  result->step = train::Sequence("step", {gradient, update.update});
  result->loss = loss;
  result->parameters = train::AllParameters(model, loss);
  OCANNL_RETURN_IF_ERROR(AddTest(lessons, net, options.batch_size, *result));
  if (options.shuffle) {
    OCANNL_ASSIGN_OR_RETURN(
        result->order,
        train::BatchOrder::Make(
            lessons.train.inputs.dims()[0],
            {.batch_size = options.batch_size, .seed = options.seed}));
  }
  return result;
}

absl::Status StartEpoch(const Supervised& supervised, const Context& context,
                        int64_t epoch) {
  const std::optional<train::BatchOrder>& order = supervised.order;
  if (!order) return absl::OkStatus();
  return context.Write(
      "train_order",
      NdArray::Of<int32_t>({order->batches(), order->part_size()},
                           order->Epoch(epoch)));
}

absl::StatusOr<SupervisedRoutines> Start(const Supervised& supervised,
                                         const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(Routine init,
                          ToRoutine(context, supervised.init, {}));
  OCANNL_RETURN_IF_ERROR(init.Run());
  OCANNL_ASSIGN_OR_RETURN(Routine step,
                          ToRoutine(init.context(), supervised.step, {}));
  OCANNL_ASSIGN_OR_RETURN(Routine test,
                          ToRoutine(step.context(), supervised.test, {}));
  return SupervisedRoutines{.step = std::move(step), .test = std::move(test)};
}

absl::StatusOr<Routine> StartTest(const Supervised& supervised,
                                  const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(Routine init,
                          ToRoutine(context, supervised.init, {}));
  OCANNL_RETURN_IF_ERROR(init.Run());
  return ToRoutine(init.context(), supervised.test, {});
}

absl::StatusOr<Score> TestScore(Routine& test) {
  Score sum;
  double batches = 0;
  auto run = [&]() -> absl::Status {
    OCANNL_RETURN_IF_ERROR(test.Run());
    OCANNL_ASSIGN_OR_RETURN(NdArray loss, test.context().Read("test_loss"));
    OCANNL_ASSIGN_OR_RETURN(NdArray hits, test.context().Read("test_hits"));
    sum.loss += loss.AsDouble(0);
    sum.hits += hits.AsDouble(0);
    ++batches;
    return absl::OkStatus();
  };
  OCANNL_RETURN_IF_ERROR(train::SequentialLoop(test.statics(), run));
  return Score{.loss = sum.loss / batches, .hits = sum.hits / batches};
}

}  // namespace ocannl
