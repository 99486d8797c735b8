// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/data/data_loader.h"
#include "ocannl/train/fit/fit.h"
#include "ocannl/train/fit/fit_parts.h"
#include "ocannl/train/graph/option_check.h"
#include "ocannl/train/run/run.h"
#include "ocannl/train/run/sequential_loop.h"

namespace ocannl::train {
namespace {

int64_t CountOf(const std::vector<FitArray>& arrays) {
  return arrays[0].values.dims()[0];
}

// Error: the arrays are no examples, or fewer than a batch. `use` is "train".
absl::Status CheckArrays(const std::vector<FitArray>& arrays,
                         absl::string_view use, int64_t size) {
  for (const FitArray& array : arrays) {
    const Dims& dims = array.values.dims();
    if (array.batch_axes < 1 || array.batch_axes > 2 ||
        dims.size() < static_cast<size_t>(array.batch_axes)) {
      return UserError("`", array.name, "` has ", dims.size(),
                       " axes, of which ", array.batch_axes,
                       " are batch axes; give 1 or 2 of those it has");
    }
    if (dims[0] == CountOf(arrays)) continue;
    return UserError("`", array.name, "` has ", dims[0], " examples and `",
                     arrays[0].name, "` ", CountOf(arrays),
                     "; give as many of each");
  }
  if (CountOf(arrays) >= size) return absl::OkStatus();
  return UserError("the ", CountOf(arrays), " examples to ", use,
                   " fill no batch of ", size, "; make the batch smaller");
}

absl::Status CheckOptions(const FitData& data, const FitOptions& options) {
  const std::pair<absl::string_view, int64_t> above_zero[] = {
      {"epochs", options.epochs},
      {"batch_size", data.batch_size},
      {"shards", options.shards},
      {"lines", options.lines}};
  for (const auto& [name, value] : above_zero) {
    OCANNL_RETURN_IF_ERROR(CheckAboveZero(absl::StrCat(options.prefix, name),
                                          static_cast<double>(value)));
  }
  OCANNL_RETURN_IF_ERROR(
      CheckNotNegative(absl::StrCat(options.prefix, "epochs_now"),
                       static_cast<double>(options.epochs_now)));
  const Communicator* ranks = options.communicator;
  if (ranks != nullptr && options.shards < ranks->ranks()) {
    return UserError(options.prefix, "shards is ", options.shards,
                     ", less than the ", ranks->ranks(),
                     " ranks; give one for each at least");
  }
  if (!data.train.empty()) return absl::OkStatus();
  return UserError(
      "there are no arrays to train on; give some as FitData::train");
}

// batches,size,places|cells: without places where it has one batch axis.
Tensor Rows(Graph& graph, const FitArray& array, int64_t size) {
  const Dims& dims = array.values.dims();
  const int64_t count = dims[0] / size;
  Dims batch = {count, size};
  const auto cells = dims.begin() + array.batch_axes;
  batch.insert(batch.end(), dims.begin() + 1, cells);
  std::vector<int32_t> rows(count * size);
  std::iota(rows.begin(), rows.end(), 0);
  return Data(graph, array.name, TakeRows(array.values, rows),
              {.rows = {std::move(batch), Dims(cells, dims.end()), Dims{}}});
}

std::vector<Tensor> BatchAt(Graph& graph, const std::vector<FitArray>& arrays,
                            int64_t size, const std::string& index,
                            bool shuffles) {
  const int64_t count = CountOf(arrays) / size;
  const int32_t number = graph.AddStatic(index, count);
  if (shuffles) {
    const Tensor order =
        Input(graph, std::string(kFitOrder),
              absl::StrCat(count, ",", size, "|"), DType::kI32);
    return GatherBatch(arrays, Slice(order, number));
  }
  std::vector<Tensor> batch;
  for (const FitArray& array : arrays) {
    batch.push_back(Slice(Rows(graph, array, size), number));
  }
  return batch;
}

absl::Status AddTest(const FitData& data, FitCode& code) {
  if (data.test.empty() || code.net.measures == nullptr) {
    return absl::OkStatus();
  }
  OCANNL_RETURN_IF_ERROR(CheckArrays(data.test, "test", data.batch_size));
  const std::vector<Tensor> batch =
      BatchAt(code.model.graph, data.test, data.batch_size, "test_n",
              /*shuffles=*/false);
  OCANNL_ASSIGN_OR_RETURN(code.measures, code.net.measures(batch));
  std::vector<Assignments> parts;
  for (const auto& [name, tensor] : code.measures) {
    OCANNL_ASSIGN_OR_RETURN(Assignments part, Forward(code.model, tensor));
    parts.push_back(std::move(part));
  }
  code.test = Sequence("test", parts);
  return absl::OkStatus();
}

}  // namespace

std::vector<Tensor> GatherBatch(const std::vector<FitArray>& arrays,
                                Tensor rows) {
  std::vector<Tensor> batch;
  for (const FitArray& array : arrays) {
    Shape shape;
    shape[RowKind::kOutput] = array.values.dims();
    const Tensor all =
        Data(*rows.graph, array.name, array.values, SpecOf(shape));
    batch.push_back(Gather(array.batch_axes > 1 ? "n, p, ...; b| => b, p|..."
                                                : "n, ...; b| => b|...",
                           all, rows));
  }
  return batch;
}

absl::StatusOr<UpdateCode> FitUpdate(Model& model, Tensor loss,
                                     const Training& training,
                                     const FitOptions& options, int64_t steps,
                                     const std::optional<LossScale>& scale) {
  const Tensor rate =
      Named(options.rate ? options.rate(model.graph, training.step, steps)
                         : Number(model.graph, 0.1),
            "learning_rate");
  OCANNL_ASSIGN_OR_RETURN(UpdateCode states,
                          UpdateStates(model, training.updates));
  OCANNL_ASSIGN_OR_RETURN(UpdateCode update,
                          ScaledRuleUpdate(model, Parameters(model, loss), rate,
                                           options.rule, scale));
  return UpdateCode{
      .init = Sequence("init", {states.init, update.init}),
      .update = Sequence("update", {states.update, update.update})};
}

absl::StatusOr<std::unique_ptr<FitCode>> MakeFitCode(
    const MakeFitNet& make_net, const FitData& data,
    const FitOptions& options) {
  OCANNL_RETURN_IF_ERROR(
      CheckGiven("Fit", {{"function of the network", make_net != nullptr}}));
  OCANNL_RETURN_IF_ERROR(CheckOptions(data, options));
  OCANNL_RETURN_IF_ERROR(CheckArrays(data.train, "train", data.batch_size));
  auto made = std::make_unique<FitCode>();
  Model& model = made->model;
  model.graph.set_seed(options.seed);
  made->batches = CountOf(data.train) / data.batch_size;
  const std::vector<Tensor> batch = BatchAt(
      model.graph, data.train, data.batch_size, "batch_n", data.shuffle);
  Training training{.step = model.graph.AddStatic("step", std::nullopt)};
  OCANNL_ASSIGN_OR_RETURN(made->net, make_net(model.graph));
  OCANNL_RETURN_IF_ERROR(
      CheckGiven("Fit", {{"function of the loss", made->net.loss != nullptr}}));
  OCANNL_ASSIGN_OR_RETURN(made->loss, made->net.loss(batch, &training));
  const Tensor loss = made->loss;
  OCANNL_ASSIGN_OR_RETURN(const std::optional<LossScale> scale,
                          LossScaleFor(options.dtype, model));
  OCANNL_ASSIGN_OR_RETURN(
      Assignments gradient,
      GradUpdate(model, loss, {.scaled_by = TensorOf(scale)}));
  OCANNL_ASSIGN_OR_RETURN(UpdateCode update,
                          FitUpdate(model, loss, training, options,
                                    options.epochs * made->batches, scale));
  made->init = std::move(update.init);
  made->step = Sequence(options.code, {gradient, update.update});
  made->parameters = AllParameters(model, loss);
  OCANNL_RETURN_IF_ERROR(AddTest(data, *made));
  if (data.shuffle) {
    OCANNL_ASSIGN_OR_RETURN(
        made->order,
        BatchOrder::Make(CountOf(data.train), {.batch_size = data.batch_size,
                                               .seed = options.seed}));
  }
  return made;
}

absl::StatusOr<Context> FitCode::Start(const Context& context) {
  return RunInit(model, loss, init, context);
}

absl::StatusOr<Measures> FitCode::Measure(Routine& routine) const {
  Measures means;
  for (const auto& [name, tensor] : measures) means.push_back({name, 0});
  double runs = 0;
  auto run = [&]() -> absl::Status {
    OCANNL_RETURN_IF_ERROR(routine.Run());
    for (size_t k = 0; k < measures.size(); ++k) {
      OCANNL_ASSIGN_OR_RETURN(
          const NdArray value,
          routine.context().Read(measures[k].second.node().name));
      means[k].second += value.AsDouble(0);
    }
    ++runs;
    return absl::OkStatus();
  };
  OCANNL_RETURN_IF_ERROR(SequentialLoop(routine.statics(), run));
  for (auto& [name, value] : means) value /= runs;
  return means;
}

absl::Status FitCode::StartEpoch(const Context& context, int64_t epoch) const {
  if (!order) return absl::OkStatus();
  return context.Write(
      std::string(kFitOrder),
      NdArray::Of<int32_t>({order->batches(), order->part_size()},
                           order->Epoch(epoch)));
}

}  // namespace ocannl::train
