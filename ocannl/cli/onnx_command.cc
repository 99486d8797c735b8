// SPDX-License-Identifier: Apache-2.0
//
// onnx FILE.onnx: lists what a model has. onnx: lists all operators.
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "ocannl/cli/commands.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/rules/operators.h"

namespace ocannl {
namespace {

// A table of Markdown, which OPERATORS.md has too.
void PrintOperators(std::ostream& out) {
  out << "| operator | versions | inputs | attributes |\n|---|---|---|---|\n";
  for (const onnx::Operator& known : onnx::Operators()) {
    out << "| " << known.name << " | " << known.versions << " | "
        << known.least_inputs;
    if (known.most_inputs == onnx::kManyInputs) {
      out << " or more";
    } else if (known.most_inputs > known.least_inputs) {
      out << " to " << known.most_inputs;
    }
    out << " |";
    for (absl::string_view attribute : onnx::AttributesOf(known)) {
      out << " `" << absl::StrReplaceAll(attribute, {{"|", ","}}) << "`";
    }
    out << " |\n";
  }
}

void Print(absl::string_view title, const std::vector<onnx::TensorInfo>& infos,
           std::ostream& out) {
  out << title << "\n";
  for (const onnx::TensorInfo& info : infos) {
    out << "  " << info.name << " : " << ToString(info) << "\n";
  }
}

// How many nodes an operator has, and whether the import knows all of them.
struct Uses {
  int count = 0;
  bool are_known = true;
};

bool IsKnown(const onnx::Node& node,
             const std::map<std::string, int64_t>& opsets) {
  if (IsBranch(node)) return true;
  auto opset = opsets.find(node.domain);
  return CheckKnown(node, opset == opsets.end() ? 0 : opset->second).ok();
}

// The uses of each operator, those in branches too.
void Count(const onnx::OnnxGraph& graph,
           const std::map<std::string, int64_t>& opsets,
           std::map<std::string, Uses>& all) {
  for (const onnx::Node& node : graph.nodes) {
    const std::string domain =
        node.domain.empty() ? "" : absl::StrCat(node.domain, ".");
    Uses& uses = all[absl::StrCat(domain, node.op)];
    ++uses.count;
    uses.are_known = uses.are_known && IsKnown(node, opsets);
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.graph != nullptr) Count(*attribute.graph, opsets, all);
    }
  }
}

}  // namespace

absl::Status OnnxCommand(const CommandLine& line, std::ostream& out) {
  if (line.positional().empty()) {
    PrintOperators(out);
    return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(const onnx::OnnxModel model,
                          onnx::ReadModelFile(UserPath(line.positional()[0])));
  if (!model.producer.empty()) out << "producer " << model.producer << "\n";
  for (const auto& [domain, version] : model.opsets) {
    out << "opset " << domain << (domain.empty() ? "" : " ") << version << "\n";
  }
  for (const auto& [key, value] : model.metadata) {
    out << key << " = " << value << "\n";
  }
  Print("inputs", model.graph.inputs, out);
  Print("outputs", model.graph.outputs, out);
  std::map<std::string, Uses> all;
  Count(model.graph, model.opsets, all);
  out << "operators\n";
  for (const auto& [name, uses] : all) {
    out << "  " << uses.count << " " << name
        << (uses.are_known ? "" : " (unsupported)") << "\n";
  }
  return absl::OkStatus();
}

}  // namespace ocannl
