// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/weights.h"

#include <initializer_list>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "ocannl/onnx/import.h"

namespace ocannl::onnx {
namespace {

// Scales and offsets of nodes such as Clip and Pow.
constexpr int64_t kFewCells = 4;

bool IsOneOf(const Node& node, std::initializer_list<absl::string_view> ops) {
  return node.domain.empty() && absl::c_linear_search(ops, node.op);
}

bool IsProduct(const Node& node) {
  return IsOneOf(node, {"Conv", "ConvTranspose", "Gemm", "MatMul"});
}

struct Reads {
  int all = 0, to_f32 = 0;
};

void CountReads(const OnnxGraph& graph, std::map<std::string, Reads>& reads) {
  for (const TensorInfo& output : graph.outputs) ++reads[output.name].all;
  for (const Node& node : graph.nodes) {
    const auto to = node.attributes.find("to");
    const bool is_to_f32 = IsOneOf(node, {"Cast"}) &&
                           to != node.attributes.end() &&
                           to->second.whole == CodeOfDType(DType::kF32);
    for (const std::string& name : node.inputs) {
      ++reads[name].all;
      if (is_to_f32) ++reads[name].to_f32;
    }
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.graph != nullptr) CountReads(*attribute.graph, reads);
    }
  }
}

}  // namespace

const NdArray* WeightOf(const Node& node) {
  const auto value = node.attributes.find("value");
  if (!IsOneOf(node, {"Constant"}) || node.outputs.size() != 1 ||
      value == node.attributes.end() || !value->second.tensor) {
    return nullptr;
  }
  const NdArray& array = *value->second.tensor;
  return IsParameter(array) && array.size() > kFewCells ? &array : nullptr;
}

std::set<std::string> NamesOfWeights(const OnnxGraph& graph) {
  std::set<std::string> products, names;
  for (const Node& node : graph.nodes) {
    if (IsProduct(node)) {
      products.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  auto is_product = [&](const std::string& name) {
    return products.contains(name);
  };
  for (size_t k = graph.nodes.size(); k-- > 0;) {
    const Node& node = graph.nodes[k];
    const bool moves = IsOneOf(node, {"Cast", "Flatten", "Identity", "Reshape",
                                      "Squeeze", "Transpose", "Unsqueeze"}) &&
                       !node.inputs.empty() &&
                       absl::c_any_of(node.outputs, [&](auto& name) {
                         return names.contains(name);
                       });
    const bool adds =
        IsOneOf(node, {"Add"}) && absl::c_any_of(node.inputs, is_product);
    if (moves) names.insert(node.inputs[0]);
    if (adds || IsProduct(node)) {
      names.insert(node.inputs.begin(), node.inputs.end());
    }
  }
  return names;
}

std::set<std::string> NamesConvertedToF32(const OnnxGraph& graph) {
  std::map<std::string, Reads> reads;
  CountReads(graph, reads);
  std::set<std::string> names;
  for (const auto& [name, count] : reads) {
    if (count.all == count.to_f32) names.insert(name);
  }
  return names;
}

}  // namespace ocannl::onnx
