// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/supervised_code.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "experiments/nets/rate_schedule.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"

namespace ocannl {
namespace {

// The first `count` rows.
NdArray FirstRows(const NdArray& array, int64_t count) {
  Dims dims = array.dims();
  const size_t row = array.bytes() / static_cast<size_t>(dims[0]);
  dims[0] = count;
  NdArray rows(array.dtype(), dims);
  std::copy(array.data(), array.data() + row * static_cast<size_t>(count),
            rows.data());
  return rows;
}

}  // namespace

absl::Status Batches::Check() const {
  const int64_t examples = examples_.inputs.dims()[0];
  CHECK_EQ(examples, examples_.classes.dims()[0]);
  if (examples >= size_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", examples, " examples to ", name_,
                   " fill no batch of ", size_, "; make the batch smaller"));
}

bool Batches::has_places() const { return examples_.classes.dims().size() > 1; }

Batch Batches::At(const std::string& index, bool shuffles) const {
  const int32_t number = graph_.AddStatic(index, count());
  if (!shuffles) {
    return {.inputs = Slice(Rows(examples_.inputs, "inputs"), number),
            .classes = Slice(Rows(examples_.classes, "classes"), number)};
  }
  ShapeSpec spec;
  spec.rows = {Dims{count(), size_}, Dims{}, Dims{}};
  return At(Slice(Data(graph_, absl::StrCat(name_, "_order"),
                       NdArray(DType::kI32, {count(), size_}), spec),
                  number));
}

Batch Batches::At(Tensor rows) const {
  return {.inputs = Gathered(rows, examples_.inputs, "inputs"),
          .classes = Gathered(rows, examples_.classes, "classes")};
}

Tensor Batches::Rows(const NdArray& array, absl::string_view what) const {
  ShapeSpec spec;
  Dims batch = {count(), size_};
  Dims cells(array.dims().begin() + 1, array.dims().end());
  if (has_places()) {
    batch.push_back(cells[0]);
    cells.erase(cells.begin());
  }
  spec[RowKind::kBatch] = std::move(batch);
  spec[RowKind::kOutput] = std::move(cells);
  spec[RowKind::kInput] = Dims{};
  return Data(graph_, absl::StrCat(name_, "_", what),
              FirstRows(array, count() * size_), std::move(spec));
}

Tensor Batches::Gathered(Tensor rows, const NdArray& array,
                         absl::string_view what) const {
  Shape shape;
  shape[RowKind::kOutput] = array.dims();
  const Tensor all =
      Data(graph_, absl::StrCat(name_, "_", what), array, SpecOf(shape));
  return Gather(
      has_places() ? "n, p, ...; b| => b, p|..." : "n, ...; b| => b|...", all,
      rows);
}

Tensor Targets(Tensor classes, int64_t count) {
  return OneHot(InDType(classes, DType::kI32), count, DType::kF32);
}

train::ParamScope ScopeOf(Graph& graph, const SupervisedOptions& options) {
  return {
      .graph = &graph, .name = "", .dtype = options.dtype, .kept = DType::kF32};
}

Tensor TrainingLoss(const Net& net, const Batch& batch, int64_t classes,
                    train::Training* training) {
  const Tensor targets = Targets(batch.classes, classes);
  const Tensor logits = InDType(net(batch.inputs, training), DType::kF32);
  return Named(train::CrossEntropy(logits, targets, {}), "loss");
}

absl::StatusOr<train::UpdateCode> TrainingUpdate(
    train::Model& model, Tensor loss, const train::Training& training,
    const SupervisedOptions& options, int64_t steps,
    const std::optional<train::LossScale>& scale) {
  const Tensor rate = ScheduledRate(options.schedule, model.graph,
                                    training.step, options.rate, steps);
  OCANNL_ASSIGN_OR_RETURN(train::UpdateCode states,
                          train::UpdateStates(model, training.updates));
  OCANNL_ASSIGN_OR_RETURN(
      train::UpdateCode update,
      train::ScaledRuleUpdate(
          model, train::Parameters(model, loss), rate,
          options.adamw ? train::AdamW({.weight_decay = options.weight_decay})
                        : train::Sgd({.momentum = options.momentum,
                                      .weight_decay = options.weight_decay}),
          scale));
  return train::UpdateCode{
      .init = train::Sequence("init", {states.init, update.init}),
      .update = train::Sequence("update", {states.update, update.update})};
}

}  // namespace ocannl
