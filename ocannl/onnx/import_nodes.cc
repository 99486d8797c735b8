// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/import_nodes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/onnx/rules/apply.h"
#include "ocannl/onnx/rules/operators.h"
#include "ocannl/onnx/weights.h"

namespace ocannl::onnx {
namespace {

// Of nodes that an error lists.
constexpr size_t kMostListed = 40;

std::string NameOf(const Node& node) {
  std::string name = node.name;
  for (const std::string& output : node.outputs) {
    if (name.empty()) name = output;
  }
  return absl::StrCat("`", name, "` (", node.op, ")");
}

absl::Status At(const Node& node, const absl::Status& status) {
  return ErrorIn(absl::StrCat("node ", NameOf(node)), status);
}

}  // namespace

std::string ArrayName(absl::string_view name) {
  auto is_part = [&](size_t at) {
    return at < name.size() &&
           (absl::ascii_isalnum(name[at]) || name[at] == '_');
  };
  std::string made;
  for (size_t k = 0; k < name.size(); ++k) {
    const bool is_dot =
        name[k] == '.' && k > 0 && is_part(k - 1) && is_part(k + 1);
    made += is_part(k) || is_dot ? name[k] : '_';
  }
  if (made.empty() || absl::ascii_isdigit(made[0])) made = "_" + made;
  return made;
}

// Only floats that have axes can be trained. Numbers are constants such as
// an epsilon, which the engine folds into code.
bool IsParameter(const NdArray& array) {
  return IsFloat(ComputeDType(array.dtype())) && !array.dims().empty() &&
         array.size() > 0;
}

Value NodeImporter::AddInitializer(const std::string& name,
                                   const NdArray& array,
                                   const std::set<std::string>& widened) {
  if (IsNarrow(array.dtype()) && widened.contains(name)) {
    return AddInitializer(name, Converted(array, DType::kF32), {});
  }
  if (!IsParameter(array)) return Constant(net_.model->graph, array);
  Value value = Parameter(net_.model->graph, ArrayName(name), array);
  net_.parameters.push_back({.name = name,
                             .array = value.tensor().node().name,
                             .dtype = array.dtype(),
                             .dims = array.dims(),
                             .tensor = value.tensor(),
                             .data = value.known});
  return value;
}

absl::Status NodeImporter::AddGraph(const OnnxGraph& from, Scope& scope) {
  std::set<std::string> widened, weights;
  if (options_.widen) widened = NamesConvertedToF32(from);
  if (options_.constant_weights) weights = NamesOfWeights(from);
  for (const auto& [name, array] : from.initializers) {
    scope.values[name] = AddInitializer(name, array, widened);
  }
  for (const Node& node : from.nodes) {
    const NdArray* weight = WeightOf(node);
    if (weight != nullptr && weights.contains(node.outputs[0])) {
      OCANNL_RETURN_IF_ERROR(Define(
          node, 0, AddInitializer(node.outputs[0], *weight, widened), scope));
    } else {
      OCANNL_RETURN_IF_ERROR(AddNode(node, scope));
    }
  }
  return absl::OkStatus();
}

// Gives an output its value; none: it is unsupported.
absl::Status NodeImporter::Define(const Node& node, size_t output,
                                  std::optional<Value> value, Scope& scope) {
  const std::string& name = node.outputs[output];
  if (!scope.values.try_emplace(name, std::move(value)).second) {
    return UserError("node ", NameOf(node), " computes `", name,
                     "`, but that is the name of another value");
  }
  return absl::OkStatus();
}

int64_t NodeImporter::OpsetOf(const Node& node) const {
  auto found = opsets_.find(node.domain);
  return found == opsets_.end() ? 0 : found->second;
}

// Adds the outputs. What is unsupported is noted, and the import goes on to
// find all of it.
absl::Status NodeImporter::AddNode(const Node& node, Scope& scope) {
  std::vector<std::optional<Value>> inputs;
  bool is_supported = true;
  for (const std::string& name : node.inputs) {
    inputs.emplace_back();
    if (name.empty()) continue;
    const std::optional<Value>* value = scope.Find(name);
    if (value == nullptr) {
      return UserError("node ", NameOf(node), " reads `", name,
                       "`, which no node before it computes");
    }
    is_supported = is_supported && value->has_value();
    inputs.back() = *value;
  }
  const bool is_branch = IsBranch(node);
  if (is_branch && (inputs.size() != 1 || node.inputs[0].empty())) {
    return At(node, UserError("it has no condition"));
  }
  absl::StatusOr<Outputs> outputs = Outputs();
  if (is_supported) {
    outputs = is_branch
                  ? AddBranch(node, *inputs[0], scope)
                  : Apply(node, OpsetOf(node), std::move(inputs), *net_.model);
  } else if (!is_branch) {
    const absl::Status known = CheckKnown(node, OpsetOf(node));
    if (!known.ok()) outputs = known;
  }
  if (absl::IsUnimplemented(outputs.status())) {
    unsupported_.emplace_back(At(node, outputs.status()).message());
    is_supported = false;
  } else if (!outputs.ok()) {
    return At(node, outputs.status());
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    std::optional<Value> value;
    if (is_supported) value = (*outputs)[k];
    OCANNL_RETURN_IF_ERROR(Define(node, k, std::move(value), scope));
  }
  if (is_supported) Freeze(node, scope);
  return absl::OkStatus();
}

// What batch normalisation has measured is not trained.
void NodeImporter::Freeze(const Node& node, const Scope& scope) {
  if (node.op != "BatchNormalization") return;
  for (size_t k = 3; k < std::min<size_t>(5, node.inputs.size()); ++k) {
    const std::optional<Value>* value = scope.Find(node.inputs[k]);
    if (value == nullptr || !*value || !(*value)->is_parameter) continue;
    net_.model->frozen.insert((*value)->tensor().id);
  }
}

// The outputs of the branch that the condition chooses. If it is computed, both
// branches are, and their outputs must have the same dims.
absl::StatusOr<Outputs> NodeImporter::AddBranch(const Node& node,
                                                const Value& condition,
                                                const Scope& scope) {
  if (condition.cells() != 1) {
    return UserError("its condition has ", condition.cells(), " cells");
  }
  if (condition.is_constant()) {
    const bool holds = condition.known->AsDouble(0) != 0;
    return BranchOutputs(node, holds ? "then_branch" : "else_branch", scope);
  }
  OCANNL_ASSIGN_OR_RETURN(const Outputs chosen,
                          BranchOutputs(node, "then_branch", scope));
  OCANNL_ASSIGN_OR_RETURN(const Outputs other,
                          BranchOutputs(node, "else_branch", scope));
  Outputs outputs;
  for (size_t k = 0; k < chosen.size(); ++k) {
    if (chosen[k].dims != other[k].dims ||
        chosen[k].dtype() != other[k].dtype()) {
      return absl::UnimplementedError(
          "a computed condition whose branches have outputs of different dims");
    }
    outputs.push_back(Select(Reshape(condition, {}), chosen[k], other[k]));
  }
  return outputs;
}

absl::StatusOr<Outputs> NodeImporter::BranchOutputs(const Node& node,
                                                    const std::string& branch,
                                                    const Scope& scope) {
  auto found = node.attributes.find(branch);
  if (found == node.attributes.end() || found->second.graph == nullptr) {
    return UserError("it has no ", branch);
  }
  const OnnxGraph& graph = *found->second.graph;
  Scope inner = {.outer = &scope};
  OCANNL_RETURN_IF_ERROR(AddGraph(graph, inner));
  if (graph.outputs.size() != node.outputs.size()) {
    return UserError("its ", branch, " has ", graph.outputs.size(),
                     " outputs, not ", node.outputs.size());
  }
  Outputs outputs;
  for (const TensorInfo& info : graph.outputs) {
    const std::optional<Value>* value = inner.Find(info.name);
    if (value == nullptr) {
      return UserError("no node of its ", branch, " computes the output `",
                       info.name, "`");
    }
    if (!*value) {
      return absl::UnimplementedError(
          absl::StrCat("its ", branch, " has unsupported nodes"));
    }
    outputs.push_back(**value);
  }
  return outputs;
}

void NodeImporter::CheckNodes(const OnnxGraph& graph) {
  for (const Node& node : graph.nodes) {
    if (IsBranch(node)) continue;
    const absl::Status known = CheckKnown(node, OpsetOf(node));
    if (absl::IsUnimplemented(known)) {
      unsupported_.emplace_back(At(node, known).message());
    }
  }
}

absl::Status NodeImporter::Unsupported() const {
  if (unsupported_.empty()) return absl::OkStatus();
  const size_t listed = std::min(unsupported_.size(), kMostListed);
  std::string text =
      absl::StrCat("the import does not support ", unsupported_.size(),
                   unsupported_.size() == 1 ? " node" : " nodes", ":");
  for (size_t k = 0; k < listed; ++k) {
    absl::StrAppend(&text, "\n  ", unsupported_[k]);
  }
  if (listed < unsupported_.size()) absl::StrAppend(&text, "\n  ...");
  return absl::UnimplementedError(text);
}

}  // namespace ocannl::onnx
