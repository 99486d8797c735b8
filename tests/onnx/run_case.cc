// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/run_case.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/tiers/tiers.h"
#include "tests/onnx/known.h"
#include "tests/onnx/model.h"
#include "tests/onnx/op_call.h"
#include "tests/onnx/rules.h"

namespace ocannl::onnx {
namespace {

using Values = std::map<std::string, Value>;

struct Table {
  std::map<std::string, Rule> rules;
  std::map<std::string, std::string> themes;
};

constexpr char kMovement[] = "movement";

const Table& RuleTable() {
  static const Table& table = *[] {
    auto* all = new Table;
    for (auto& [theme, rules] : {std::pair("arithmetic", ArithmeticRules()),
                                 {"comparison", ComparisonRules()},
                                 {"functions", FunctionRules()},
                                 {"reduction", ReductionRules()},
                                 {"products", ProductRules()},
                                 {"windows", WindowRules()},
                                 {"normalisation", NormalisationRules()},
                                 {kMovement, MovementRules()},
                                 {"creation", CreationRules()},
                                 {"indexing", IndexingRules()},
                                 {"images", ResizeRules()},
                                 {"losses", LossRules()},
                                 {"quantised", QuantisedRules()},
                                 {"recurrent", RecurrentRules()},
                                 {"optimisers", OptimizerRules()}}) {
      for (const OpRule& rule : rules) {
        CHECK(all->rules.emplace(rule.op, rule.rule).second) << rule.op;
        all->themes.emplace(rule.op, theme);
      }
    }
    return all;
  }();
  return table;
}

absl::StatusOr<OnnxModel> LoadModel(const std::string& folder) {
  OCANNL_ASSIGN_OR_RETURN(std::string file, ReadFile(folder + "/model.onnx"));
  return ReadModel(file);
}

// What goes in or comes out as `value` number `number`. A u16 in the place of a
// bf16 has its bits.
absl::StatusOr<NdArray> LoadTensor(const std::string& folder,
                                   absl::string_view name, size_t number,
                                   const NodeValue& value) {
  if (!value.dtype_code) {
    return absl::UnimplementedError("a sequence or an optional value");
  }
  OCANNL_ASSIGN_OR_RETURN(DType dtype, DTypeOfCode(*value.dtype_code));
  OCANNL_ASSIGN_OR_RETURN(
      std::string file, ReadFile(absl::StrCat(folder, "/test_data_set_0/", name,
                                              "_", number, ".pb")));
  OCANNL_ASSIGN_OR_RETURN(NdArray array, ReadTensor(file));
  if (dtype == DType::kBF16 && array.dtype() == DType::kU16) {
    NdArray same_bits(dtype, array.dims());
    std::memcpy(same_bits.data(), array.data(), array.bytes());
    return same_bits;
  }
  return array;
}

// Adds the results of the node. What the engine infers is what the rule says.
absl::Status AddNode(const Node& node, int64_t opset, train::Model& model,
                     Values& values) {
  OpCall call = {.node = node, .inputs = {}, .model = model, .opset = opset};
  for (const std::string& name : node.inputs) {
    call.inputs.emplace_back();
    if (!name.empty()) call.inputs.back() = values.at(name);
  }
  OCANNL_RETURN_IF_ERROR(CheckKnown(node, opset));
  OCANNL_ASSIGN_OR_RETURN(Outputs outputs, RuleTable().rules.at(node.op)(call));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    if (k >= outputs.size()) {
      return absl::UnimplementedError(absl::StrCat("result ", k));
    }
    const Value& output = outputs[k];
    values.insert_or_assign(node.outputs[k], output);
    if (NumElements(output.dims) == 0) continue;
    const TensorId id = output.tensor().id;
    OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {id}, model.shapes));
    if (model.shapes.at(id).dims() != output.dims) {
      return absl::InternalError(
          absl::StrCat(node.op, " has shape ", ToString(model.shapes.at(id)),
                       ", not ", absl::StrJoin(output.dims, ",")));
    }
  }
  return absl::OkStatus();
}

// How far a float may be from what is expected: `relative` of that, and
// `absolute`, which is for what is left of cancelled terms. The expected
// numbers were computed in f32 or f64, in another order.
struct Tolerance {
  double relative, absolute;
};

Tolerance ToleranceOf(DType dtype, const OnnxModel& model,
                      const std::string& op) {
  const bool is_moved = absl::c_all_of(model.nodes, [](const Node& node) {
    return Themes().at(node.op) == kMovement;
  });
  if (is_moved) return {0, 0};
  // These were computed with 3.1415 for pi.
  if (absl::EndsWith(op, "Window")) return {1e-3, 1e-6};
  switch (dtype) {
    case DType::kF64:
      return {1e-6, 1e-7};
    case DType::kF32:
      return {1e-5, 1e-6};
    case DType::kF16:
      return {2e-3, 1e-4};
    case DType::kBF16:
      return {1e-2, 1e-3};
    default:
      return {0, 0};
  }
}

absl::Status Compare(const NdArray& found, const NdArray& expected,
                     Tolerance tolerance) {
  if (found.dtype() != expected.dtype() || found.size() != expected.size()) {
    return absl::InternalError(absl::StrCat(
        "a result is ", Name(found.dtype()), " of ", found.size(),
        " cells, not ", Name(expected.dtype()), " of ", expected.size()));
  }
  for (int64_t k = 0; k < found.size(); ++k) {
    const double x = found.AsDouble(k), y = expected.AsDouble(k);
    const double allowed =
        tolerance.absolute + tolerance.relative * std::abs(y);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (std::abs(x - y) <= allowed) continue;
    return absl::InternalError(
        absl::StrCat("cell ", k, " is ", x, ", not ", y));
  }
  return absl::OkStatus();
}

// What the interpreter computes. Error: another tier computes other bits.
absl::StatusOr<NdArray> EvaluateOnTiers(const train::Model& model,
                                        const Value& value) {
  std::optional<NdArray> found;
  for (const std::string& name : AvailableTiers()) {
    OCANNL_ASSIGN_OR_RETURN(const Backend* tier, FindTier(name));
    OCANNL_ASSIGN_OR_RETURN(NdArray array, Evaluate(model, value, *tier));
    if (!found)
      found = std::move(array);
    else if (!SameBits(*found, array)) {
      return absl::InternalError(name +
                                 " gives other bits than the interpreter");
    }
  }
  return *found;
}

}  // namespace

const std::map<std::string, std::string>& Themes() {
  return RuleTable().themes;
}

std::string OpOfCase(const std::string& folder) {
  const std::string function(absl::StripSuffix(folder, "_expanded"));
  absl::StatusOr<OnnxModel> model = LoadModel(function);
  if (!model.ok() || model->nodes.empty()) return "?";
  return model->nodes.back().op;
}

absl::Status RunCase(const std::string& folder, const std::string& op) {
  if (absl::EndsWith(folder, "/test_adam_multiple")) {
    return absl::UnimplementedError(
        "it was computed with an epsilon of 0.01, which the model does not "
        "say");
  }
  OCANNL_ASSIGN_OR_RETURN(OnnxModel file, LoadModel(folder));
  for (const Node& node : file.nodes) {
    OCANNL_RETURN_IF_ERROR(CheckKnown(node, file.opset));
  }
  train::Model model;
  Values values;
  for (size_t k = 0; k < file.inputs.size(); ++k) {
    OCANNL_ASSIGN_OR_RETURN(NdArray array,
                            LoadTensor(folder, "input", k, file.inputs[k]));
    values.emplace(file.inputs[k].name,
                   Constant(model.graph, std::move(array)));
  }
  for (const auto& [name, array] : file.initializers) {
    values.emplace(name, Constant(model.graph, array));
  }
  for (const Node& node : file.nodes) {
    OCANNL_RETURN_IF_ERROR(AddNode(node, file.opset, model, values));
  }
  for (size_t k = 0; k < file.outputs.size(); ++k) {
    const Value& value = values.at(file.outputs[k].name);
    OCANNL_ASSIGN_OR_RETURN(NdArray expected,
                            LoadTensor(folder, "output", k, file.outputs[k]));
    if (value.dims != expected.dims()) {
      return absl::InternalError(
          absl::StrCat("result ", k, " is ", absl::StrJoin(value.dims, ","),
                       ", not ", absl::StrJoin(expected.dims(), ",")));
    }
    OCANNL_ASSIGN_OR_RETURN(NdArray found, EvaluateOnTiers(model, value));
    OCANNL_RETURN_IF_ERROR(
        Compare(found, expected, ToleranceOf(found.dtype(), file, op)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NdArray>> RunNode(const Node& node, int64_t opset,
                                             std::vector<NdArray> inputs) {
  train::Model model;
  Values values;
  for (size_t k = 0; k < inputs.size(); ++k) {
    values.emplace(node.inputs[k], Constant(model.graph, std::move(inputs[k])));
  }
  OCANNL_RETURN_IF_ERROR(AddNode(node, opset, model, values));
  std::vector<NdArray> results;
  for (const std::string& name : node.outputs) {
    OCANNL_ASSIGN_OR_RETURN(results.emplace_back(),
                            EvaluateOnTiers(model, values.at(name)));
  }
  return results;
}

}  // namespace ocannl::onnx
