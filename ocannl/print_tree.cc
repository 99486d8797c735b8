// SPDX-License-Identifier: Apache-2.0
#include "ocannl/print_tree.h"

#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/print_values.h"

namespace ocannl {
namespace {

class Printer {
 public:
  // Values are those of `context`; null: there are none.
  Printer(const Graph& graph, const Context* context,
          const TreeOptions& options)
      : graph_(graph), context_(context), options_(options) {}

  void Print(TensorId id, int depth) {
    const TensorNode& node = graph_[id];
    const absl::Span<const TensorId> operands = OperandsOf(node.source);
    absl::StrAppend(&text_, std::string(2 * depth, ' '));
    if (node.named && node.text != node.name) {
      absl::StrAppend(&text_, node.name, " = ");
    }
    absl::StrAppend(&text_, node.text, Kind(node));
    const bool is_above = printed_.contains(id);
    const bool is_cut = depth == options_.max_depth;
    absl::StrAppend(&text_,
                    operands.empty() ? ""
                    : is_above       ? ": above"
                    : is_cut         ? ": ..."
                                     : "",
                    "\n");
    if (!is_above) PrintArrays(node, depth + 1);
    if (operands.empty() || is_above || is_cut) return;
    printed_.insert(id);
    for (TensorId operand : operands) Print(operand, depth + 1);
  }

  std::string Take() && { return std::move(text_); }

 private:
  void PrintArrays(const TensorNode& node, int depth) {
    if (context_ == nullptr ||
        std::holds_alternative<NumberSource>(node.source))
      return;
    if (options_.values) PrintArray("value: ", node.name, depth);
    if (options_.gradients && node.has_gradient) {
      PrintArray("gradient: ", absl::StrCat(node.name, kGradientSuffix), depth);
    }
  }

  // Rows of the array stand below each other.
  void PrintArray(absl::string_view what, const std::string& name, int depth) {
    const std::string indent(2 * depth, ' ');
    const auto array = context_->Read(name);
    const std::string rows = array.ok() ? PrintValues(*array) : "  -\n";
    const std::string next =
        absl::StrCat("\n", indent, std::string(what.size(), ' '));
    absl::StrAppend(&text_, indent, what,
                    absl::StrReplaceAll(
                        absl::StripSuffix(absl::StripPrefix(rows, "  "), "\n"),
                        {{"\n  ", next}}),
                    "\n");
  }

  static absl::string_view Kind(const TensorNode& node) {
    if (const auto* param = std::get_if<ParamSource>(&node.source)) {
      return param->is_input ? ": input" : ": parameter";
    }
    return std::holds_alternative<DataSource>(node.source) ? ": data" : "";
  }

  const Graph& graph_;
  const Context* context_;
  const TreeOptions& options_;
  absl::flat_hash_set<TensorId> printed_;  // with their operands
  std::string text_;
};

}  // namespace

std::string TensorTree(Tensor root, int max_depth) {
  const TreeOptions options = {.max_depth = max_depth};
  Printer printer(*root.graph, nullptr, options);
  printer.Print(root.id, 0);
  return std::move(printer).Take();
}

std::string TensorTree(Tensor root, const Context& context,
                       const TreeOptions& options) {
  Printer printer(*root.graph, &context, options);
  printer.Print(root.id, 0);
  return std::move(printer).Take();
}

}  // namespace ocannl
