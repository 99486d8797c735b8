// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/graph/model.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/gradient.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/graph/option_check.h"

namespace ocannl::train {

Model::Model() = default;
Model::Model(const Model&) = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(const Model&) = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

namespace {

void Say(Assignments& code, std::string comment) {
  code.list.push_back(BlockComment{std::move(comment)});
}

std::vector<Tensor> TensorsOf(Graph& graph, absl::Span<const TensorId> ids) {
  std::vector<Tensor> tensors;
  for (TensorId id : ids) tensors.push_back({&graph, id});
  return tensors;
}

// gradient of the loss =: scale
void AppendSeed(const Model& model, Tensor loss, const GradOptions& options,
                Assignments& code) {
  const Array grad = GradientArray(model.graph, model.shapes, loss.id);
  if (!options.scaled_by) {
    const Expr scale = Literal(code.exprs, grad.dtype, options.scale);
    AssignPointwise(code, code.AddArray(grad), std::nullopt, scale.id(), {});
    return;
  }
  const TensorNode& by = options.scaled_by->node();
  const int32_t scale = code.AddArray(
      ValueArray(model.graph, model.shapes, options.scaled_by->id));
  const Expr leaf = MakeLeaf(code.exprs, ComputeDType(by.dtype), 0);
  AssignPointwise(code, code.AddArray(grad), std::nullopt,
                  Convert(leaf, ComputeDType(grad.dtype)).id(), {scale});
}

}  // namespace

absl::Status CheckIsIn(const Model& model, Tensor t) {
  if (t.graph == nullptr) {
    return absl::InvalidArgumentError(
        "the tensor is none: it was not made by any function; give one of the "
        "model's graph");
  }
  const auto* error = std::get_if<ErrorSource>(&t.node().source);
  if (error != nullptr) return error->status;
  if (t.graph == &model.graph) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Describe(t.node()),
                   " is a tensor of another graph than the model's; make it "
                   "in that one"));
}

absl::StatusOr<Assignments> Forward(Model& model, Tensor t) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  OCANNL_RETURN_IF_ERROR(InferUses(model.graph, {t.id}, model.shapes));
  OCANNL_RETURN_IF_ERROR(model.graph.SetMemoryMode(
      t.id, {MemoryMode::kMaterialized, "the result of Forward"}));
  OCANNL_ASSIGN_OR_RETURN(
      Assignments code,
      ocannl::Forward(model.graph, model.shapes, t.id, model.computed_by));
  Assignments result;
  result.name = absl::StrCat(t.node().name, "_fwd");
  Say(result, absl::StrCat(t.node().name, " fwd"));
  Append(result, std::move(code));
  return result;
}

absl::Status CheckStep(const Model& model, Tensor loss) {
  const Graph& graph = model.graph;
  if (graph.Step()) return absl::OkStatus();
  for (TensorId id : TopologicalOrder(graph, {loss.id}, false)) {
    const auto* symbol = std::get_if<SymbolSource>(&graph[id].source);
    if (symbol == nullptr || symbol->static_index != kStep) continue;
    const std::string where = ToString(graph[id].where);
    return absl::InvalidArgumentError(absl::StrCat(
        "random numbers", where.empty() ? "" : absl::StrCat(" (", where, ")"),
        " would be the same in each step of the training; add a static index "
        "`step` to the graph, and set it to the number of the step, or give "
        "them a counter: 0 if they are to stay the same"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Assignments> GradUpdate(Model& model, Tensor loss,
                                       const GradOptions& options) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, loss));
  OCANNL_RETURN_IF_ERROR(InferUses(model.graph, {loss.id}, model.shapes));
  const Shape& shape = model.shapes.at(loss.id);
  if (NumElements(shape.dims()) == 1) {
    return GradUpdateOfSum(model, loss, options);
  }
  const TensorNode& node = loss.node();
  return absl::InvalidArgumentError(absl::StrCat(
      "the loss ",
      node.named ? absl::StrCat("`", node.name, "`") : Describe(node),
      " has shape ", ToString(shape), "; it must have one cell, as `++ ",
      "\"...|... => 0\"` gives it"));
}

absl::StatusOr<std::vector<Tensor>> KeepGradients(
    absl::Span<const Tensor> params, Assignments& code) {
  std::vector<Tensor> with_gradient;
  for (Tensor p : params) {
    absl::Status kept = Keep(code, absl::StrCat(p.node().name, ".grad"));
    if (absl::IsNotFound(kept)) continue;
    OCANNL_RETURN_IF_ERROR(kept);
    with_gradient.push_back(p);
  }
  return with_gradient;
}

absl::StatusOr<Assignments> GradUpdateOfSum(Model& model, Tensor loss,
                                            const GradOptions& options) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, loss));
  OCANNL_RETURN_IF_ERROR(CheckStep(model, loss));
  OCANNL_RETURN_IF_ERROR(
      CheckAboveZero("the scale of the loss", options.scale));
  if (options.scaled_by) {
    OCANNL_RETURN_IF_ERROR(CheckIsIn(model, *options.scaled_by));
    OCANNL_RETURN_IF_ERROR(
        InferShapes(model.graph, {options.scaled_by->id}, model.shapes));
  }
  ComputedBy before = model.computed_by;
  OCANNL_ASSIGN_OR_RETURN(Assignments forward, Forward(model, loss));
  absl::StatusOr<std::vector<TensorId>> order =
      BackwardOrder(model.graph, loss.id, model.computed_by);
  absl::Status status = order.status();
  if (status.ok()) {
    const DType dtype = loss.node().dtype;
    status =
        CheckAboveZero(absl::StrCat("the scale of the loss as ", Name(dtype)),
                       ToDouble(MakeConstant(dtype, options.scale)));
  }
  if (!status.ok()) {
    model.computed_by = std::move(before);
    return status;
  }
  const std::string& name = loss.node().name;
  Assignments code;
  code.name = absl::StrCat(name, "_gradient");
  Say(code, absl::StrCat(name, " forward and gradient update"));
  Append(code, std::move(forward));
  Say(code, absl::StrCat(name, " zero grads and backprop"));
  AppendBackprop(
      model.graph, model.shapes, *order,
      [&](Assignments& to) { AppendSeed(model, loss, options, to); }, code);
  if (options.keep_gradients) {
    OCANNL_RETURN_IF_ERROR(
        KeepGradients(Parameters(model, loss), code).status());
  }
  return code;
}

absl::StatusOr<Assignments> InitParams(Model& model, Tensor t) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {t.id}, model.shapes));
  const std::vector<TensorId> parameters = ParametersOf(model.graph, t.id);
  OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, parameters, model.shapes));
  Assignments code;
  code.name = absl::StrCat(t.node().name, "_init_params");
  Say(code, absl::StrCat(t.node().name, " init params"));
  Append(code, Initialize(model.graph, model.shapes, parameters));
  return code;
}

std::vector<Tensor> Parameters(Model& model, Tensor t) {
  if (t.graph != &model.graph) return {};
  std::vector<TensorId> trained = TrainedParametersOf(model.graph, t.id);
  std::erase_if(trained, [&](TensorId p) { return model.frozen.contains(p); });
  return TensorsOf(model.graph, trained);
}

absl::Status SetFrozen(Model& model, Tensor p, bool frozen) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, p));
  const auto* param = std::get_if<ParamSource>(&p.node().source);
  if (param == nullptr || param->is_input) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(p.node()), " is not a parameter; freeze the ",
                     "parameters that it depends on, or use StopGradient"));
  }
  if (frozen) {
    model.frozen.insert(p.id);
  } else {
    model.frozen.erase(p.id);
  }
  return absl::OkStatus();
}

std::vector<Tensor> AllParameters(Model& model, Tensor t) {
  if (t.graph != &model.graph) return {};
  return TensorsOf(model.graph, ParametersOf(model.graph, t.id));
}

Assignments Sequence(std::string name, absl::Span<const Assignments> parts) {
  Assignments code;
  code.name = std::move(name);
  for (const Assignments& part : parts) {
    if (code.name.empty()) code.name = part.name;
    Append(code, part);
  }
  return code;
}

}  // namespace ocannl::train
