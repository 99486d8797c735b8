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
#include "ocannl/train/optim/loss_scale.h"
#include "ocannl/train/optim/rules.h"

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

// Points as a batch of rows of `size` numbers.
Tensor Points(Graph& graph, const std::string& name,
              const std::vector<float>& values, int64_t size) {
  int64_t count = static_cast<int64_t>(values.size()) / size;
  ShapeSpec rows;
  rows[RowKind::kOutput] = Dims{size};
  rows[RowKind::kInput] = Dims{};
  return Data(graph, name, NdArray::Of<float>({count, size}, values), rows);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MoonsModel>> MakeMoons(
    const LabelledPoints& points, const MoonsOptions& options) {
  LabelledPoints whole = points;
  OCANNL_RETURN_IF_ERROR(DropPartialBatch(options.batch_size, whole).status());
  auto moons = std::make_unique<MoonsModel>();
  Graph& graph = moons->model.graph;
  graph.set_seed(options.seed);
  int64_t batches =
      static_cast<int64_t>(whole.labels.size()) / options.batch_size;
  moons->steps = batches * options.epochs;
  int32_t batch_n = graph.AddStatic("batch_n", batches);
  int32_t step_n = graph.AddStatic("step", std::nullopt);
  Tensor flat = Points(graph, "moons_flat", whole.coordinates, 2);
  Tensor classes = Points(graph, "moons_classes", whole.labels, 1);
  Names names{
      .tensors = {{"moons_input", Named(Slice(flat, batch_n), "moons_input")},
                  {"moons_class",
                   Named(Slice(classes, batch_n), "moons_class")}},
      .statics = {{"step", step_n}},
      .numbers = {{"batch_size", double(options.batch_size)},
                  {"steps", double(moons->steps)}}};
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor margin,
      ParseTensor(graph,
                  absl::StrCat("relu (1 - (moons_class *. (",
                               Mlp(options, "moons_input", true), ")))"),
                  names));
  for (Tensor p : margin.parameters) {
    graph.SetInit(p.id, Xavier(Uniform1(graph), p, /*scale_sq=*/2).id);
  }
  names.tensors.emplace("margin_loss", Named(margin.tensor, "margin_loss"));
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor sum,
      ParseTensor(graph, R"((margin_loss ++ "...|... => 0") /. !..batch_size)",
                  names));
  const Tensor loss = moons->loss = Named(sum.tensor, "scalar_loss");
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor rate,
      ParseTensor(graph, "0.1 *. ((2 *. !..steps) - !@step) /. !..steps",
                  names));
  Tensor learning_rate = Named(rate.tensor, "learning_rate");

  train::Model& model = moons->model;
  OCANNL_ASSIGN_OR_RETURN(const std::optional<train::LossScale> scale,
                          train::LossScaleFor(options.dtype, model));
  OCANNL_ASSIGN_OR_RETURN(
      Assignments update,
      train::GradUpdate(model, loss, {.scaled_by = train::TensorOf(scale)}));
  OCANNL_ASSIGN_OR_RETURN(
      train::UpdateCode sgd,
      train::ScaledRuleUpdate(
          model, train::Parameters(model, loss), learning_rate,
          train::Sgd({.weight_decay = options.weight_decay}), scale));
  moons->step = train::Sequence("scalar_loss_gradient_then_sgd_update",
                                {update, sgd.update});
  OCANNL_ASSIGN_OR_RETURN(moons->init, train::InitParams(model, loss));
  if (scale) moons->init = train::Sequence("init", {moons->init, sgd.init});
  moons->parameters = train::AllParameters(model, loss);
  return moons;
}

absl::StatusOr<Assignments> ScorePoints(MoonsModel& moons,
                                        const MoonsOptions& options,
                                        const std::vector<float>& coordinates,
                                        const std::string& name) {
  Graph& graph = moons.model.graph;
  Names names;
  for (Tensor p : moons.parameters) names.tensors.emplace(p.node().name, p);
  names.tensors.emplace(
      "points", Points(graph, absl::StrCat(name, "_points"), coordinates, 2));
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor scores,
      ParseTensor(graph, Mlp(options, "points", false), names));
  return train::Forward(moons.model, Named(scores.tensor, name));
}

}  // namespace ocannl
