// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/rules/operators.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/user_error.h"

namespace ocannl::onnx {
namespace {

constexpr size_t kMany = kManyInputs;

constexpr Operator kOperators[] = {
#define OPERATOR(theme, name, versions, least, most, attributes) \
  {#theme, #name, versions, least, most, attributes},
#include "ocannl/onnx/rules/operators.def"
#undef OPERATOR
};

int64_t FirstVersion(const Operator& known) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(known.versions, absl::MaxSplits(' ', 1));
  int64_t version = 0;
  CHECK(absl::SimpleAtoi(parts.first, &version)) << known.name;
  return version;
}

bool Knows(const Operator& known, const std::string& name,
           const Attribute& attribute) {
  const std::string value =
      attribute.text.empty() ? absl::StrCat(attribute.whole) : attribute.text;
  for (absl::string_view declared : AttributesOf(known)) {
    const std::vector<std::string> parts = absl::StrSplit(declared, '=');
    if (parts[0] != name) continue;
    const std::vector<std::string> values =
        absl::StrSplit(parts.size() > 1 ? parts[1] : value, '|');
    return absl::c_linear_search(values, value);
  }
  return false;
}

bool IsOfDomain(const Node& node, const Operator& known) {
  return node.domain.empty()
             ? known.theme != "optimisers"
             : node.domain == kTrainingDomain && known.theme == "optimisers";
}

}  // namespace

absl::Span<const Operator> Operators() { return kOperators; }

std::vector<absl::string_view> AttributesOf(const Operator& known) {
  return absl::StrSplit(known.attributes, ' ', absl::SkipEmpty());
}

const Operator* FindOperator(absl::string_view op) {
  static const auto& by_name = *[] {
    auto* all = new absl::flat_hash_map<absl::string_view, const Operator*>;
    for (const Operator& known : kOperators) all->emplace(known.name, &known);
    return all;
  }();
  auto found = by_name.find(op);
  return found == by_name.end() ? nullptr : found->second;
}

bool IsBranch(const Node& node) {
  return node.op == "If" && node.domain.empty();
}

absl::Status CheckKnown(const Node& node, int64_t opset) {
  const Operator* known = FindOperator(node.op);
  const std::string op =
      absl::StrCat(node.domain, node.domain.empty() ? "" : ".", node.op);
  if (known == nullptr || !IsOfDomain(node, *known)) {
    return absl::UnimplementedError(absl::StrCat("operator ", op));
  }
  if (opset < FirstVersion(*known)) {
    return absl::UnimplementedError(absl::StrCat(
        op, " as of opset ", opset, ", before version ", FirstVersion(*known)));
  }
  for (size_t k = 0; k < known->least_inputs; ++k) {
    if (k < node.inputs.size() && !node.inputs[k].empty()) continue;
    return UserError("input ", k, " of ", op, " is missing");
  }
  for (size_t k = known->most_inputs; k < node.inputs.size(); ++k) {
    if (node.inputs[k].empty()) continue;
    return absl::UnimplementedError(absl::StrCat("input ", k, " of ", op));
  }
  for (const auto& [name, attribute] : node.attributes) {
    if (Knows(*known, name, attribute)) continue;
    return absl::UnimplementedError(
        absl::StrCat("attribute ", name, " of ", op,
                     attribute.text.empty() ? "" : ": ", attribute.text));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::onnx
