// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/session.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl::onnx {

absl::StatusOr<Session> Session::Load(const std::string& path,
                                      const ImportOptions& options,
                                      const Backend& backend) {
  OCANNL_ASSIGN_OR_RETURN(ImportedModel net, ImportFile(path, options));
  return Make(std::move(net), backend);
}

absl::StatusOr<Session> Session::Make(ImportedModel net,
                                      const Backend& backend) {
  auto machine = std::make_unique<Machine>(backend);
  OCANNL_ASSIGN_OR_RETURN(Assignments code, ForwardOfFile(net));
  std::optional<Routine> routine;
  if (!code.list.empty()) {
    OCANNL_ASSIGN_OR_RETURN(routine,
                            ToRoutine(machine->context, std::move(code), {}));
  }
  return Session(std::move(net), std::move(machine), std::move(routine));
}

absl::Status Session::Check(
    const std::map<std::string, NdArray>& inputs) const {
  std::vector<std::string> names;
  for (const NamedTensor& input : net_.inputs) {
    names.push_back(input.name);
    auto given = inputs.find(input.name);
    if (given == inputs.end()) {
      return UserError("input `", input.name, "` is missing; it is ",
                       DescribeArray(input.dtype, input.dims));
    }
    const NdArray& array = given->second;
    if (array.dtype() == input.dtype && array.dims() == input.dims) continue;
    return UserError(
        "input `", input.name, "` is ", DescribeArray(input.dtype, input.dims),
        ", but the value is ", DescribeArray(array.dtype(), array.dims()));
  }
  for (const auto& [name, array] : inputs) {
    if (absl::c_linear_search(names, name)) continue;
    return UserError("the model has no input `", name, "`; it has ",
                     absl::StrJoin(names, ", "));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, NdArray>> Session::Run(
    const std::map<std::string, NdArray>& inputs) {
  OCANNL_RETURN_IF_ERROR(Check(inputs));
  for (const NamedTensor& input : net_.inputs) {
    if (!input.tensor) continue;
    OCANNL_RETURN_IF_ERROR(machine_->context.Write(
        input.array, inputs.at(input.name), Context::Unused::kIsLeft));
  }
  if (routine_) OCANNL_RETURN_IF_ERROR(routine_->Run());
  std::map<std::string, NdArray> outputs;
  for (const NamedTensor& output : net_.outputs) {
    NdArray& array = outputs[output.name];
    if (!output.tensor) {
      array = NdArray(output.dtype, output.dims);
      continue;
    }
    OCANNL_ASSIGN_OR_RETURN(array, machine_->context.Read(output.array));
  }
  return outputs;
}

}  // namespace ocannl::onnx
