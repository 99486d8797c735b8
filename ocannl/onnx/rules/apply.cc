// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/rules/apply.h"

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/onnx/rules/operators.h"
#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

// Constants of more bytes are computed in each run: the import interprets.
constexpr int64_t kMostFoldedBytes = int64_t{1} << 22;

// The same of more steps, about a quarter of a second.
constexpr double kMostFoldedSteps = 1 << 23;

using Inputs = std::vector<std::optional<Value>>;

const std::map<std::string, Rule>& RuleTable() {
  static const auto& table = *[] {
    auto* all = new std::map<std::string, Rule>;
    for (const auto& rules :
         {ArithmeticRules(), ComparisonRules(), FunctionRules(),
          ReductionRules(), ProductRules(), WindowRules(), NormalisationRules(),
          AttentionRules(), MovementRules(), CreationRules(), IndexingRules(),
          ResizeRules(), LossRules(), QuantisedRules(), RecurrentRules(),
          OptimizerRules()}) {
      for (const OpRule& rule : rules) {
        CHECK(all->emplace(rule.op, rule.rule).second) << rule.op;
        CHECK(FindOperator(rule.op) != nullptr) << rule.op;
      }
    }
    for (const Operator& known : Operators()) {
      CHECK(all->contains(std::string(known.name))) << known.name;
    }
    return all;
  }();
  return table;
}

// The outputs of the rule. What it throws becomes a status here.
absl::StatusOr<Outputs> CallRule(const OpCall& call) {
  try {
    return RuleTable().at(call.node.op)(call);
  } catch (const Misfit& misfit) {
    return absl::InvalidArgumentError(misfit.message);
  } catch (const std::exception& error) {
    return UserError("the model is damaged (", error.what(), ")");
  }
}

// Whether the engine infers the dims that the rule computed.
absl::Status CheckOutput(const Value& output, train::Model& model) {
  const absl::StatusOr<int64_t> bytes = ByteSize(output.dtype(), output.dims);
  if (!bytes.ok() || *bytes > kMostBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an array of the dims ", absl::StrJoin(output.dims, ","),
                     " is larger than ", kMostBytes, " bytes"));
  }
  if (output.cells() == 0) return absl::OkStatus();
  const TensorId id = output.tensor().id;
  OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {id}, model.shapes));
  if (model.shapes.at(id).dims() == output.dims) return absl::OkStatus();
  return UserError("its dims are ", absl::StrJoin(output.dims, ","),
                   ", but the engine infers ", ToString(model.shapes.at(id)));
}

absl::StatusOr<Outputs> ApplyRule(const Node& node, int64_t opset,
                                  Inputs inputs, train::Model& model) {
  const OpCall call = {.node = node,
                       .inputs = std::move(inputs),
                       .to = model.graph,
                       .opset = opset};
  OCANNL_ASSIGN_OR_RETURN(Outputs outputs, CallRule(call));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    if (k >= outputs.size()) {
      return absl::UnimplementedError(
          absl::StrCat("output ", k, " of ", node.op));
    }
    if (!std::holds_alternative<Tensor>(outputs[k].arg.value)) {
      return absl::UnimplementedError(
          absl::StrCat("output ", k, " of ", node.op, ", a number"));
    }
    OCANNL_RETURN_IF_ERROR(CheckOutput(outputs[k], model));
  }
  return outputs;
}

// At most so many steps compute the node: cells that it reads and writes. Of
// operators that may read each input for each cell, the product of both.
double StepsOf(const Node& node, const Inputs& inputs, const Outputs& outputs) {
  double read = 1, written = 1;
  for (const std::optional<Value>& input : inputs) {
    if (input) read += static_cast<double>(input->cells());
  }
  for (const Value& output : outputs) {
    written += static_cast<double>(output.cells());
  }
  const absl::string_view theme = FindOperator(node.op)->theme;
  const bool reads_each_once = theme == "arithmetic" || theme == "comparison" ||
                               theme == "functions" || theme == "movement" ||
                               theme == "creation" ||
                               absl::StartsWith(node.op, "Reduce");
  return reads_each_once ? read + written : read * written;
}

// The outputs as constants of `model`, from a model of their own. None: they
// are too large, or would take too long.
absl::StatusOr<std::optional<Outputs>> Fold(const Node& node, int64_t opset,
                                            const Inputs& inputs,
                                            train::Model& model) {
  train::Model scratch;
  Inputs constants;
  for (const std::optional<Value>& input : inputs) {
    constants.emplace_back();
    if (input) constants.back() = Constant(scratch.graph, *input->known);
  }
  OCANNL_ASSIGN_OR_RETURN(
      const Outputs computed,
      ApplyRule(node, opset, std::move(constants), scratch));
  for (const Value& output : computed) {
    const absl::StatusOr<int64_t> bytes = ByteSize(output.dtype(), output.dims);
    if (bytes.ok() && *bytes <= kMostFoldedBytes) continue;
    if (output.known == nullptr) return std::nullopt;
  }
  const bool is_long = StepsOf(node, inputs, computed) > kMostFoldedSteps;
  if (is_long && absl::c_any_of(computed, [](const Value& output) {
        return output.known == nullptr && output.cells() > 0;
      })) {
    return std::nullopt;
  }
  Outputs outputs;
  for (size_t k = 0; k < computed.size(); ++k) {
    const bool is_read = k < node.outputs.size() && !node.outputs[k].empty();
    if (!is_read) {
      outputs.push_back(computed[k]);
      continue;
    }
    train::Model alone = scratch;
    OCANNL_ASSIGN_OR_RETURN(NdArray array, Evaluate(alone, computed[k]));
    outputs.push_back(Constant(model.graph, std::move(array)));
  }
  return outputs;
}

}  // namespace

absl::StatusOr<NdArray> Evaluate(train::Model& model, const Value& value) {
  if (value.known != nullptr) return *value.known;
  if (value.cells() == 0) return NdArray(value.dtype(), value.dims);
  static const interp::InterpBackend interpreter;
  const Tensor tensor = {&model.graph, value.tensor().id};
  OCANNL_ASSIGN_OR_RETURN(Assignments code, train::Forward(model, tensor));
  Device device("host", &interpreter);
  Stream stream(&device);
  const Context context(&stream);
  OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(context, code, {}));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  return context.Read(tensor.node().name);
}

absl::StatusOr<Outputs> Apply(const Node& node, int64_t opset, Inputs inputs,
                              train::Model& model) {
  OCANNL_RETURN_IF_ERROR(CheckKnown(node, opset));
  const bool is_known =
      absl::c_all_of(inputs, [](const std::optional<Value>& input) {
        return !input || input->is_constant();
      });
  if (is_known && !inputs.empty()) {
    OCANNL_ASSIGN_OR_RETURN(std::optional<Outputs> folded,
                            Fold(node, opset, inputs, model));
    if (folded) return *std::move(folded);
  }
  return ApplyRule(node, opset, std::move(inputs), model);
}

}  // namespace ocannl::onnx
