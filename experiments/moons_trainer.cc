// SPDX-License-Identifier: Apache-2.0
#include "experiments/moons_trainer.h"

#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/optim/rules.h"

namespace ocannl {

using train::Ops;
using train::Ref;

Ref MoonsLoss(Ops& ops, absl::Span<const Ref> args) {
  const Ref w1 = args[0], b1 = args[1], w2 = args[2], b2 = args[3];
  const Ref w3 = args[4], batch = args[7];
  const Ref x = ops.SelectLeading(args[5], batch);
  const Ref y = ops.SelectLeading(args[6], batch);
  const Ref h1 = ops.Relu(ops.Linear(w1, b1, x));
  const Ref h2 = ops.Relu(ops.Linear(w2, b2, h1));
  const Ref score = ops.Matmul(h2, ops.Transpose2d(w3));
  const Ref margin = ops.Relu(ops.Shift(ops.Scale(ops.Mul(y, score), -1), 1));
  return ops.ReduceMean(margin, 0);
}

absl::StatusOr<std::unique_ptr<MoonsTrainer>> MoonsTrainer::Make(
    const Backend* backend, std::vector<NdArray> first,
    const LabelledPoints& points, const MoonsOptions& options,
    train::TrainerMode mode) {
  LabelledPoints whole = points;
  OCANNL_RETURN_IF_ERROR(DropPartialBatch(options.batch_size, whole).status());
  const int64_t size = options.batch_size;
  const int64_t batches = static_cast<int64_t>(whole.labels.size()) / size;
  const auto steps = static_cast<double>(batches * options.epochs);
  OCANNL_ASSIGN_OR_RETURN(
      train::ParamList params,
      train::ParamList::Allocate(std::move(first),
                                 {.names = {"w1", "b1", "w2", "b2", "w3"}}));
  train::TrainerOptions trainer_options = {.mode = mode};
  trainer_options.schedule = [steps](Graph& graph, int32_t step) {
    return PointMul(0.1, Number(graph, 2 * steps) - EmbedSymbol(graph, step)) /
           steps;
  };
  auto trainer = std::unique_ptr<MoonsTrainer>(
      new MoonsTrainer(backend, std::move(params), trainer_options));
  OCANNL_RETURN_IF_ERROR(trainer->trainer_.set_rule(
      train::Sgd({.weight_decay = options.weight_decay})));
  trainer->batches_ = batches;
  trainer->inputs_ = {NdArray::Of<float>({batches, size, 2}, whole.coordinates),
                      NdArray::Of<float>({batches, size, 1}, whole.labels),
                      train::Index{0, batches}};
  return trainer;
}

}  // namespace ocannl
