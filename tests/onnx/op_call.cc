// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/op_call.h"

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/support/test_device.h"

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
  CHECK(Has(k));
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

std::vector<int64_t> OpCall::Wholes(
    const std::string& name, const std::vector<int64_t>& otherwise) const {
  return AttributeOf(node, name, &Attribute::wholes, otherwise);
}

absl::StatusOr<NdArray> OpCall::Elements(size_t k) const {
  return Evaluate(model, (*this)[k], interp::InterpBackend());
}

absl::StatusOr<std::vector<int64_t>> OpCall::WholeElements(size_t k) const {
  if (NumElements((*this)[k].dims) == 0) return std::vector<int64_t>();
  // Before the copy of the model, which is to have it.
  const Value cast = Cast((*this)[k], DType::kI64);
  OCANNL_ASSIGN_OR_RETURN(NdArray array,
                          Evaluate(model, cast, interp::InterpBackend()));
  absl::Span<const int64_t> values = array.values<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

absl::StatusOr<NdArray> Evaluate(train::Model model, const Value& value,
                                 const Backend& tier) {
  if (NumElements(value.dims) == 0) return NdArray(value.dtype(), value.dims);
  const Tensor tensor = {&model.graph, value.tensor().id};
  const auto* data = std::get_if<DataSource>(&tensor.node().source);
  if (data != nullptr) return *data->data;
  OCANNL_ASSIGN_OR_RETURN(Assignments code, train::Forward(model, tensor));
  const TestDevice host(&tier);
  OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(host.context, code, {}));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  return routine.context().Read(tensor.node().name);
}

}  // namespace ocannl::onnx
