// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/optim/rule.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/run/run.h"

namespace ocannl::train {
namespace {

absl::Status CheckParameter(Model& model, Tensor p) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, p));
  if (!std::holds_alternative<ParamSource>(p.node().source)) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", p.node().name, "` is not a parameter"));
  }
  if (!p.node().has_gradient) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter `", p.node().name, "` of type ",
                     Name(p.node().dtype), " has no gradient"));
  }
  if (model.frozen.contains(p.id)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter `", p.node().name, "` is frozen; leave it out, or call ",
        "SetFrozen(model, ", p.node().name, ", false)"));
  }
  return InferUses(model.graph, {p.id}, model.shapes);
}

absl::Status CheckRate(Model& model, Tensor rate) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, rate));
  OCANNL_RETURN_IF_ERROR(InferUses(model.graph, {rate.id}, model.shapes));
  const Shape& shape = model.shapes.at(rate.id);
  if (NumElements(shape.dims()) == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the learning rate `", rate.node().name, "` has shape ",
                   ToString(shape), "; it must have one cell"));
}

// What the rule's text can name.
Names NamesOf(const Model& model, absl::Span<const Tensor> params,
              std::optional<Tensor> learning_rate, const UpdateRule& rule) {
  Names names{.tensors = {{"first", params[0]}},
              .numbers = rule.numbers,
              .lists = {{"params", {params.begin(), params.end()}},
                        {"wide", {}},
                        {"tall", {}}}};
  if (learning_rate) names.tensors.emplace("learning_rate", *learning_rate);
  for (Tensor p : params) {
    const Shape& shape = model.shapes.at(p.id);
    const Dims& outputs = shape[RowKind::kOutput];
    const Dims& inputs = shape[RowKind::kInput];
    if (outputs.size() != 1 || inputs.size() != 1) continue;
    names.lists[outputs[0] <= inputs[0] ? "wide" : "tall"].push_back(p);
  }
  return names;
}

}  // namespace

UpdateRule Chain(absl::Span<const UpdateRule> rules) {
  UpdateRule chain;
  for (const UpdateRule& rule : rules) {
    const bool first = chain.name.empty();
    absl::StrAppend(&chain.name, first ? "" : "_then_", rule.name);
    absl::StrAppend(&chain.text, first ? "" : ";\n", rule.text);
    for (const auto& [name, value] : rule.numbers) chain.numbers[name] = value;
  }
  return chain;
}

absl::StatusOr<UpdateCode> RuleUpdate(Model& model,
                                      absl::Span<const Tensor> params,
                                      std::optional<Tensor> learning_rate,
                                      const absl::StatusOr<UpdateRule>& rule) {
  OCANNL_RETURN_IF_ERROR(rule.status());
  if (learning_rate) OCANNL_RETURN_IF_ERROR(CheckRate(model, *learning_rate));
  if (params.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are no parameters for ", rule->name,
                     ": none is given, or the gradient reaches none"));
  }
  for (Tensor p : params) OCANNL_RETURN_IF_ERROR(CheckParameter(model, p));
  // The rate once, before the first parameter, unless other code computes it.
  UpdateCode code;
  ComputedBy before = model.computed_by;
  if (learning_rate && !before.forward.contains(learning_rate->id)) {
    OCANNL_ASSIGN_OR_RETURN(code.update, Forward(model, *learning_rate));
  }
  absl::StatusOr<UpdateCode> of_text = ParseCode(
      model, rule->text, NamesOf(model, params, learning_rate, *rule));
  if (!of_text.ok()) {
    model.computed_by = std::move(before);
    return of_text.status();
  }
  Append(code.update, std::move(of_text->update));
  code.init = std::move(of_text->init);
  code.update.name = absl::StrCat(rule->name, "_update");
  code.init.name = absl::StrCat(rule->name, "_init");
  code.init.statics = code.update.statics;
  return code;
}

absl::StatusOr<UpdateCode> RuleUpdate(Model& model, Tensor loss,
                                      std::optional<Tensor> learning_rate,
                                      const absl::StatusOr<UpdateRule>& rule) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, loss));
  return RuleUpdate(model, Parameters(model, loss), learning_rate, rule);
}

absl::StatusOr<Routine> StartTraining(Model& model, Tensor loss,
                                      Tensor learning_rate,
                                      const absl::StatusOr<UpdateRule>& rule,
                                      const Context& context) {
  ComputedBy before = model.computed_by;
  OCANNL_ASSIGN_OR_RETURN(Assignments gradient, GradUpdate(model, loss));
  absl::StatusOr<UpdateCode> code =
      RuleUpdate(model, loss, learning_rate, rule);
  if (!code.ok()) {
    model.computed_by = std::move(before);
    return code.status();
  }
  OCANNL_ASSIGN_OR_RETURN(const Context started,
                          RunInit(model, loss, std::move(code->init), context));
  before = {};  // long code needs the memory when it is compiled
  Assignments step = std::move(gradient);
  step.name = "step";
  Append(step, std::move(code->update));
  return ToRoutine(started, std::move(step), {});
}

}  // namespace ocannl::train
