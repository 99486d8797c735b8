// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/supervised.h"

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/optim/rules.h"

namespace ocannl {
namespace {

// The classes as probabilities, 0 or 1.
Tensor Targets(Tensor classes, int64_t count) {
  return OneHot(InDType(classes, DType::kI32), count, DType::kF32);
}

// The share of the targets whose logit is the greatest.
Tensor Hits(Tensor logits, Tensor targets) {
  const Tensor theirs = Einsum("...|v; ...|v => ...|", logits, targets);
  const Tensor hits =
      Convert(Equal(theirs, EinMax1("...|v => ...|", logits)), DType::kF32);
  return Einsum1("...| => |0", hits) / EmbedDim(hits, {RowKind::kBatch});
}

absl::StatusOr<train::NamedTensors> TestOf(const Net& net, int64_t classes,
                                           absl::Span<const Tensor> batch) {
  const Tensor logits = InDType(net(batch[0], train::kInference), DType::kF32);
  const Tensor targets = Targets(batch[1], classes);
  for (Tensor kept : {logits, targets}) {
    OCANNL_RETURN_IF_ERROR(SetMemoryMode(kept, MemoryMode::kMaterialized));
  }
  return train::NamedTensors{
      {"test_loss",
       Named(train::CrossEntropy(logits, targets, {}), "test_loss")},
      {"accuracy", Named(Hits(logits, targets), "test_hits")}};
}

}  // namespace

train::MakeFitNet Classifier(const MakeNet& make_net, int64_t classes,
                             DType dtype) {
  return [=](Graph& graph) -> absl::StatusOr<train::FitNet> {
    const Net net = make_net(
        {.graph = &graph, .name = "", .dtype = dtype, .kept = DType::kF32});
    return train::FitNet{
        .loss = [=](absl::Span<const Tensor> batch,
                    train::Training* training) -> absl::StatusOr<Tensor> {
          const Tensor targets = Targets(batch[1], classes);
          const Tensor logits = InDType(net(batch[0], training), DType::kF32);
          return Named(train::CrossEntropy(logits, targets, {}), "loss");
        },
        .measures =
            [=](absl::Span<const Tensor> batch) {
              return TestOf(net, classes, batch);
            },
        .predict = [=](Tensor inputs) -> absl::StatusOr<Tensor> {
          return net(inputs, train::kInference);
        }};
  };
}

train::FitData DataOf(const Lessons& lessons,
                      const SupervisedOptions& options) {
  const int axes = lessons.train.classes.dims().size() > 1 ? 2 : 1;
  return {.train = {{"train_inputs", lessons.train.inputs, axes},
                    {"train_classes", lessons.train.classes, axes}},
          .test = {{"test_inputs", lessons.test.inputs, axes},
                   {"test_classes", lessons.test.classes, axes}},
          .batch_size = options.batch_size,
          .shuffle = options.shuffle};
}

train::FitOptions FitOf(const SupervisedOptions& options) {
  const double decay = options.weight_decay;
  return {.epochs = options.epochs,
          .rule = options.adamw ? train::AdamW({.weight_decay = decay})
                                : train::Sgd({.momentum = options.momentum,
                                              .weight_decay = decay}),
          .rate =
              [rate = options.rate, schedule = options.schedule](
                  Graph& graph, int32_t step, int64_t steps) {
                return ScheduledRate(schedule, graph, step, rate, steps);
              },
          .seed = options.seed,
          .dtype = options.dtype};
}

absl::StatusOr<std::unique_ptr<train::FitCode>> MakeSupervised(
    const Lessons& lessons, const MakeNet& make_net,
    const SupervisedOptions& options) {
  return train::MakeFitCode(
      Classifier(make_net, lessons.classes, options.dtype),
      DataOf(lessons, options), FitOf(options));
}

}  // namespace ocannl
