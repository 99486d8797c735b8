// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/sgd.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {
namespace {

absl::Status CheckOptions(const SgdOptions& options) {
  if (!(options.momentum >= 0 && options.momentum < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("momentum is ",
                                                   NumberText(options.momentum),
                                                   "; it must be in [0, 1)"));
  }
  if (!(options.weight_decay >= 0 && std::isfinite(options.weight_decay))) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight_decay is ", NumberText(options.weight_decay),
                     "; it must be finite and not negative"));
  }
  if (options.nesterov && options.momentum == 0) {
    return absl::InvalidArgumentError(
        "nesterov needs momentum; set momentum above 0");
  }
  return absl::OkStatus();
}

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
  return InferShapes(model.graph, {p.id}, model.shapes);
}

}  // namespace

absl::Status SgdOne(Model& model, Tensor p, const Array& learning_rate,
                    const SgdOptions& options, UpdateCode& code) {
  OCANNL_RETURN_IF_ERROR(CheckOptions(options));
  OCANNL_RETURN_IF_ERROR(CheckParameter(model, p));
  Assignments& update = code.update;
  ExprPool& exprs = update.exprs;
  const std::string& name = p.node().name;
  auto leaf = [&](int k) {
    return MakeLeaf(exprs, ComputeDType(p.node().dtype), k);
  };
  auto like_value = [&](absl::string_view prefix) {
    return Intermediate(absl::StrCat(prefix, "_", name),
                        ValueArray(model.graph, model.shapes, p.id));
  };
  update.list.push_back(BlockComment{absl::StrCat(name, " param sgd step")});
  int32_t rate = update.AddArray(learning_rate);
  int32_t value = update.AddArray(ValueArray(model.graph, model.shapes, p.id));
  int32_t gradient =
      update.AddArray(GradientArray(model.graph, model.shapes, p.id));
  int32_t delta = update.AddArray(like_value("sgd_delta"));
  if (options.weight_decay == 0) {
    AssignPointwise(update, delta, std::nullopt, leaf(0).id(), {gradient});
  } else {
    AssignPointwise(update, delta, std::nullopt,
                    Fma(options.weight_decay, leaf(0), leaf(1)).id(),
                    {value, gradient});
  }
  if (options.momentum > 0) {
    Array state = like_value("sgd_momentum");
    state.memory = {MemoryMode::kOnDevice, "the state of SGD"};
    int32_t momentum = update.AddArray(state);
    int32_t cleared = code.init.AddArray(std::move(state));
    Expr zero = Literal(code.init.exprs, p.node().dtype, 0);
    AssignPointwise(code.init, cleared, std::nullopt, zero.id(), {});
    AssignPointwise(update, momentum, std::nullopt,
                    Fma(options.momentum, leaf(0), leaf(1)).id(),
                    {momentum, delta});
    if (options.nesterov) {
      AssignPointwise(update, delta, Op::kAdd,
                      Mul(options.momentum, leaf(0)).id(), {momentum});
    } else {
      AssignPointwise(update, delta, std::nullopt, leaf(0).id(), {momentum});
    }
  }
  AssignPointwise(update, value, Op::kSub, Mul(leaf(0), leaf(1)).id(),
                  {rate, delta});
  return absl::OkStatus();
}

absl::StatusOr<UpdateCode> SgdUpdate(Model& model, Tensor loss,
                                     Tensor learning_rate,
                                     const SgdOptions& options) {
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, loss));
  UpdateCode code;
  OCANNL_ASSIGN_OR_RETURN(code.update, Forward(model, learning_rate));
  code.update.name = "sgd_update";
  code.init.name = "sgd_init";
  code.init.statics = code.update.statics;
  Array rate = ValueArray(model.graph, model.shapes, learning_rate.id);
  if (NumElements(rate.dims) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the learning rate `", rate.name, "` has shape ",
                     ToString(model.shapes.at(learning_rate.id)),
                     "; it must have one cell"));
  }
  for (Tensor p : Parameters(model, loss)) {
    OCANNL_RETURN_IF_ERROR(SgdOne(model, p, rate, options, code));
  }
  return code;
}

}  // namespace ocannl::train
