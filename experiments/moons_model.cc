// SPDX-License-Identifier: Apache-2.0
#include "experiments/moons_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/run/predict.h"

namespace ocannl {
namespace {

// {w3} * relu ({b2; o=[16]} + ({w2} * relu ({b1; o=[16]} + ({w1} * x)))), or
// the same with the parameters that are there already; in narrow floats with
// copies of parameters and input: f32(f16({w3}) * relu (f16({b2; o=[16]}) ...
std::string Mlp(const MoonsOptions& options, absl::string_view input,
                bool declare) {
  const bool narrow = options.dtype != DType::kF32;
  auto copy = [&](absl::string_view text) {
    return narrow ? absl::StrCat(Name(options.dtype), "(", text, ")")
                  : std::string(text);
  };
  auto weight = [&](int layer) {
    return copy(declare ? absl::StrCat("{w", layer, "}")
                        : absl::StrCat("w", layer));
  };
  std::string text = copy(input);
  int layer = 1;
  for (int64_t size : options.hidden) {
    const std::string b =
        copy(declare ? absl::StrCat("{b", layer, "; o=[", size, "]}")
                     : absl::StrCat("b", layer));
    text = absl::StrCat("relu (", b, " + (", weight(layer), " * ", text, "))");
    ++layer;
  }
  text = absl::StrCat(weight(layer), " * ", text);
  return narrow ? absl::StrCat("f32(", text, ")") : text;
}

// The loss of a batch of points; `parameters` are those that it declares.
absl::StatusOr<Tensor> Loss(const MoonsOptions& options,
                            absl::Span<const Tensor> batch,
                            std::vector<Tensor>& parameters) {
  Graph& graph = *batch[0].graph;
  Names names{.tensors = {{"moons_input", Named(batch[0], "moons_input")},
                          {"moons_class", Named(batch[1], "moons_class")}},
              .numbers = {{"batch_size", double(options.batch_size)}}};
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor margin,
      ParseTensor(graph,
                  absl::StrCat("relu (1 - (moons_class *. (",
                               Mlp(options, "moons_input", true), ")))"),
                  names));
  parameters = margin.parameters;
  for (Tensor p : parameters) {
    graph.SetInit(p.id, Xavier(Uniform1(graph), p, /*scale_sq=*/2).id);
  }
  names.tensors.emplace("margin_loss", Named(margin.tensor, "margin_loss"));
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor sum,
      ParseTensor(graph, R"((margin_loss ++ "...|... => 0") /. !..batch_size)",
                  names));
  return Named(sum.tensor, "scalar_loss");
}

}  // namespace

train::MakeFitNet MoonsNet(const MoonsOptions& options) {
  return [=](Graph&) -> absl::StatusOr<train::FitNet> {
    auto parameters = std::make_shared<std::vector<Tensor>>();
    return train::FitNet{
        .loss =
            [=](absl::Span<const Tensor> batch, train::Training*) {
              return Loss(options, batch, *parameters);
            },
        .predict = [=](Tensor points) -> absl::StatusOr<Tensor> {
          Names names{.tensors = {{"points", points}}};
          for (Tensor p : *parameters) names.tensors.emplace(p.node().name, p);
          OCANNL_ASSIGN_OR_RETURN(
              ParsedTensor scores,
              ParseTensor(*points.graph, Mlp(options, "points", false), names));
          return scores.tensor;
        }};
  };
}

train::FitData MoonsData(const LabelledPoints& points, int64_t batch_size) {
  const auto count = static_cast<int64_t>(points.labels.size());
  return {.train = {{"moons_flat",
                     NdArray::Of<float>({count, 2}, points.coordinates)},
                    {"moons_classes",
                     NdArray::Of<float>({count, 1}, points.labels)}},
          .batch_size = batch_size};
}

train::FitOptions MoonsFit(const MoonsOptions& options) {
  return {.epochs = options.epochs,
          .rule = train::Sgd({.weight_decay = options.weight_decay}),
          .rate =
              [](Graph& graph, int32_t step, int64_t steps) {
                const auto all = static_cast<double>(steps);
                return PointMul(0.1, Number(graph, 2 * all) -
                                         EmbedSymbol(graph, step)) /
                       all;
              },
          .seed = options.seed,
          .dtype = options.dtype,
          .name = "moons",
          .code = "scalar_loss_gradient_then_sgd_update"};
}

absl::StatusOr<std::unique_ptr<train::FitCode>> MakeMoons(
    const LabelledPoints& points, const MoonsOptions& options) {
  return train::MakeFitCode(MoonsNet(options),
                            MoonsData(points, options.batch_size),
                            MoonsFit(options));
}

absl::StatusOr<NdArray> Scores(train::Fitted& moons,
                               const std::vector<float>& coordinates) {
  train::Model& model = moons.code->model;
  const NdArray values = NdArray::Of<float>(
      {static_cast<int64_t>(coordinates.size()) / 2, 2}, coordinates);
  const Tensor points =
      Data(model.graph, "points", values,
           {.rows = {Dims{values.dims()[0]}, Dims{2}, Dims{}}});
  OCANNL_ASSIGN_OR_RETURN(const Tensor scores, moons.code->net.predict(points));
  OCANNL_ASSIGN_OR_RETURN(
      train::Predictor predictor,
      train::Predictor::Make(model, scores, {points}, *moons.context));
  return predictor.Predict({values});
}

double Accuracy(const NdArray& scores, const std::vector<float>& labels) {
  int64_t right = 0;
  for (int64_t k = 0; k < scores.size(); ++k) {
    right += (scores.AsDouble(k) > 0) == (labels[k] > 0);
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

namespace {

train::MakeExamples Rows(const std::string& name,
                         const std::vector<float>& values, int64_t size) {
  return [=, &values](Graph& graph, const Dims& batch) {
    const std::vector<float> whole(values.begin(),
                                   values.begin() + NumElements(batch) * size);
    return Data(graph, name,
                NdArray::Of<float>({batch[0], batch[1], size}, whole),
                {.rows = {batch, Dims{size}, Dims{}}});
  };
}

}  // namespace

absl::StatusOr<std::unique_ptr<train::TrainedExample>> TrainInParallel(
    VirtualDevices& devices, const train::ExampleTrainOptions& options,
    const LabelledPoints& points) {
  return train::ExampleTrainLoop(
      devices, options, Rows("moons", points.coordinates, 2),
      Rows("classes", points.labels, 1),
      [](Graph& graph) -> train::Net {
        return train::Mlp({&graph, ""}, {.sizes = {16, 16, 1}});
      },
      [](Tensor output, Tensor expectation) {
        return Relu(1 - Mul(expectation, output));
      });
}

absl::StatusOr<double> Accuracy(train::TrainedExample& trained,
                                const LabelledPoints& points) {
  std::vector<float> scores;
  for (size_t k = 0; k < points.labels.size(); ++k) {
    OCANNL_ASSIGN_OR_RETURN(
        const NdArray score,
        trained.Infer(NdArray::Of<float>(
            {2}, {points.coordinates[2 * k], points.coordinates[2 * k + 1]})));
    scores.push_back(static_cast<float>(score.AsDouble(0)));
  }
  const auto count = static_cast<int64_t>(scores.size());
  return Accuracy(NdArray::Of<float>({count}, scores), points.labels);
}

}  // namespace ocannl
