// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/rules/op_call.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::onnx {
namespace {

template <class T>
T AttributeOf(const Node& node, const std::string& name, T Attribute::*member,
              const T& otherwise) {
  auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.*member;
}

}  // namespace

const Value& OpCall::operator[](size_t k) const {
  Require(Has(k), "input ", k, " is missing");
  return *inputs[k];
}

int64_t OpCall::Whole(const std::string& name, int64_t otherwise) const {
  return AttributeOf(node, name, &Attribute::whole, otherwise);
}

double OpCall::Number(const std::string& name, double otherwise) const {
  return AttributeOf(node, name, &Attribute::number, otherwise);
}

std::string OpCall::Text(const std::string& name,
                         const std::string& otherwise) const {
  return AttributeOf(node, name, &Attribute::text, otherwise);
}

Numbers OpCall::Wholes(const std::string& name,
                       const Numbers& otherwise) const {
  auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return otherwise;
  const std::vector<int64_t>& wholes = found->second.wholes;
  return Numbers(wholes.begin(), wholes.end());
}

const NdArray& OpCall::Array(const std::string& name) const {
  auto found = node.attributes.find(name);
  Require(found != node.attributes.end() && found->second.tensor, "attribute ",
          name, " has no array");
  return *found->second.tensor;
}

int OpCall::AxisOf(int64_t otherwise, int rank) const {
  return Axis(Whole("axis", otherwise), rank);
}

absl::StatusOr<NdArray> OpCall::Elements(size_t k) const {
  const Value& input = (*this)[k];
  if (input.known != nullptr) return *input.known;
  return absl::UnimplementedError(absl::StrCat(
      node.op, " whose input ", k,
      " is computed from an input of the model: shapes depend on its values"));
}

absl::StatusOr<Numbers> OpCall::WholeElements(size_t k) const {
  OCANNL_ASSIGN_OR_RETURN(const NdArray array, Elements(k));
  const NdArray wholes = Converted(array, DType::kI64);
  absl::Span<const int64_t> values = wholes.values<int64_t>();
  return Numbers(values.begin(), values.end());
}

}  // namespace ocannl::onnx
