// SPDX-License-Identifier: Apache-2.0
#include "ocannl/print_tree.h"

#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

class Printer {
 public:
  Printer(const Graph& graph, int max_depth)
      : graph_(graph), max_depth_(max_depth) {}

  void Print(TensorId id, int depth) {
    const TensorNode& node = graph_[id];
    const std::vector<TensorId> operands = OperandsOf(node.source);
    absl::StrAppend(&text_, std::string(2 * depth, ' '));
    if (node.named && node.text != node.name) {
      absl::StrAppend(&text_, node.name, " = ");
    }
    absl::StrAppend(&text_, node.text, Kind(node));
    if (operands.empty()) {
      absl::StrAppend(&text_, "\n");
    } else if (printed_.contains(id)) {
      absl::StrAppend(&text_, ": above\n");
    } else if (depth == max_depth_) {
      absl::StrAppend(&text_, ": ...\n");
    } else {
      absl::StrAppend(&text_, "\n");
      printed_.insert(id);
      for (TensorId operand : operands) Print(operand, depth + 1);
    }
  }

  std::string Take() && { return std::move(text_); }

 private:
  static absl::string_view Kind(const TensorNode& node) {
    if (const auto* param = std::get_if<ParamSource>(&node.source)) {
      return param->is_input ? ": input" : ": parameter";
    }
    return std::holds_alternative<DataSource>(node.source) ? ": data" : "";
  }

  const Graph& graph_;
  int max_depth_;
  absl::flat_hash_set<TensorId> printed_;  // with their operands
  std::string text_;
};

}  // namespace

std::string TensorTree(Tensor root, int max_depth) {
  Printer printer(*root.graph, max_depth);
  printer.Print(root.id, 0);
  return std::move(printer).Take();
}

}  // namespace ocannl
