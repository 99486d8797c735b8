// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/operations.h"

#include <string>
#include <utility>
#include <vector>

#include "ocannl/core/tensor/graph.h"

namespace ocannl {
namespace {

// Names of operators, which these functions are.
constexpr std::pair<absl::string_view, absl::string_view> kBinary[] = {
    {"add", "+"},   {"sub", "-"},   {"mul", "*"},  {"div", "/"},
    {"pow", "**"},  {"lt", "<"},    {"eq", "="},   {"ne", "<>"},
    {"or_", "||"},  {"and_", "&&"}, {"mod_", "%"}, {"fst", "-@>"},
    {"snd", "-/>"},
};

// A separate node, so that the statement's logic is not that of its operand.
Tensor Copy(const FunctionCall& call) {
  const Tensor of = std::get<Tensor>(call.args[0].value);
  TensorNode copy = of.node();
  copy.name = "";
  copy.named = false;
  copy.source = ComputeSource{.operands = {of.id}};
  copy.spec = {};
  return {of.graph, of.graph->Add(std::move(copy))};
}

std::vector<Function> MakeOperations() {
  std::vector<Function> operations;
  for (const auto& [name, symbol] : kBinary) {
    const InfixOperator* infix = FindInfix(symbol);
    operations.push_back(
        {std::string(name), 2, 2, [infix](const FunctionCall& call) {
           return ApplyInfix(*infix, "", call.args, {});
         }});
  }
  operations.push_back({"id", 1, 1, Copy});
  return operations;
}

}  // namespace

const InfixOperator* FindNamedInfix(absl::string_view name) {
  for (const auto& [known, symbol] : kBinary) {
    if (known == name) return FindInfix(symbol);
  }
  return nullptr;
}

const Function* FindOperation(absl::string_view name) {
  static const auto* operations = new std::vector<Function>(MakeOperations());
  for (const Function& operation : *operations) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

}  // namespace ocannl
