// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/run_case.h"

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/rules/operators.h"
#include "ocannl/onnx/session.h"
#include "ocannl/tiers/tiers.h"

namespace ocannl::onnx {
namespace {

// The tensor of file `name` number `number` of the folder, which is `info`. A
// u16 in the place of a bf16 has its bits.
absl::StatusOr<NdArray> LoadTensor(const std::string& folder,
                                   absl::string_view name, size_t number,
                                   const TensorInfo& info) {
  if (!info.dtype_code) {
    return absl::UnimplementedError("a sequence or an optional value");
  }
  OCANNL_ASSIGN_OR_RETURN(DType dtype, DTypeOfCode(*info.dtype_code));
  OCANNL_ASSIGN_OR_RETURN(
      std::string file, ReadFile(absl::StrCat(folder, "/test_data_set_0/", name,
                                              "_", number, ".pb")));
  OCANNL_ASSIGN_OR_RETURN(NdArray array, ReadTensor(file));
  if (dtype == DType::kBF16 && array.dtype() == DType::kU16) {
    NdArray same_bits(dtype, array.dims());
    std::memcpy(same_bits.data(), array.data(), array.bytes());
    return same_bits;
  }
  return array;
}

// How far a float may be from what is expected: `relative` of that, and
// `absolute`, which is for what is left of cancelled terms. The expected
// numbers were computed in f32 or f64, in another order.
struct Tolerance {
  double relative, absolute;
};

Tolerance ToleranceOf(DType dtype, const OnnxModel& model,
                      const std::string& op, const std::string& folder) {
  const bool is_moved = absl::c_all_of(model.graph.nodes, [](const Node& node) {
    const Operator* known = FindOperator(node.op);
    return known != nullptr && known->theme == "movement";
  });
  if (is_moved) return {0, 0};
  // The case says its numbers with four digits.
  if (absl::EndsWith(folder, "_ceil_last_window_starts_on_pad")) {
    return {0, 1e-4};
  }
  // These were computed with 3.1415 for pi.
  if (absl::EndsWith(op, "Window")) return {1e-3, 1e-6};
  switch (dtype) {
    case DType::kF64:
      return {1e-6, 1e-7};
    case DType::kF32:
      return {1e-5, 1e-6};
    case DType::kF16:
      return {2e-3, 1e-4};
    case DType::kBF16:
      return {1.6e-2, 1e-3};  // 2 units in the last of its 8 bits
    default:
      return {0, 0};
  }
}

absl::Status Compare(const NdArray& found, const NdArray& expected,
                     Tolerance tolerance) {
  if (found.dtype() != expected.dtype() || found.size() != expected.size()) {
    return absl::InternalError(absl::StrCat(
        "a result is ", Name(found.dtype()), " of ", found.size(),
        " cells, not ", Name(expected.dtype()), " of ", expected.size()));
  }
  for (int64_t k = 0; k < found.size(); ++k) {
    const double x = found.AsDouble(k), y = expected.AsDouble(k);
    const double allowed =
        tolerance.absolute + tolerance.relative * std::abs(y);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (std::abs(x - y) <= allowed) continue;
    return absl::InternalError(
        absl::StrCat("cell ", k, " is ", x, ", not ", y));
  }
  return absl::OkStatus();
}

using NamedArrays = std::map<std::string, NdArray>;

// The outputs on the interpreter. Error: another tier computes other bits.
absl::StatusOr<NamedArrays> RunOnTiers(const OnnxModel& file,
                                       const NamedArrays& inputs,
                                       const NamedArrays& constants) {
  std::optional<NamedArrays> found;
  for (const std::string& name : AvailableTiers()) {
    OCANNL_ASSIGN_OR_RETURN(const Backend* tier, FindTier(name));
    OCANNL_ASSIGN_OR_RETURN(ImportedModel net,
                            Import(file, {.constants = constants}));
    OCANNL_ASSIGN_OR_RETURN(Session session,
                            Session::Make(std::move(net), *tier));
    OCANNL_ASSIGN_OR_RETURN(NamedArrays outputs, session.Run(inputs));
    if (!found) {
      found = std::move(outputs);
      continue;
    }
    for (const auto& [output, array] : outputs) {
      if (SameBits(found->at(output), array)) continue;
      return absl::InternalError(
          absl::StrCat(name, " gives other bits than the interpreter"));
    }
  }
  return *std::move(found);
}

absl::StatusOr<OnnxModel> LoadModel(const std::string& folder) {
  return ReadModelFile(folder + "/model.onnx");
}

}  // namespace

std::string OpOfCase(const std::string& folder) {
  const std::string function(absl::StripSuffix(folder, "_expanded"));
  absl::StatusOr<OnnxModel> model = LoadModel(function);
  if (!model.ok() || model->graph.nodes.empty()) return "?";
  return model->graph.nodes.back().op;
}

absl::StatusOr<std::vector<NdArray>> RunModel(OnnxModel file,
                                              std::vector<NdArray> inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    std::vector<Dim>& dims = file.graph.inputs[k].dims.emplace();
    for (int64_t size : inputs[k].dims()) dims.push_back({size, ""});
  }
  absl::StatusOr<NamedArrays> outputs = absl::UnimplementedError("");
  // As few constants as possible: what depends on constants only runs on no
  // tier.
  for (size_t variable : {inputs.size(), size_t{1}, size_t{0}}) {
    NamedArrays variables, constants;
    for (size_t k = 0; k < inputs.size(); ++k) {
      NamedArrays& kind = k < variable ? variables : constants;
      kind.emplace(file.graph.inputs[k].name, inputs[k]);
    }
    outputs = RunOnTiers(file, variables, constants);
    if (!absl::IsUnimplemented(outputs.status())) break;
  }
  OCANNL_RETURN_IF_ERROR(outputs.status());
  std::vector<NdArray> results;
  for (const TensorInfo& output : file.graph.outputs) {
    results.push_back(outputs->at(output.name));
  }
  return results;
}

absl::StatusOr<std::vector<NdArray>> RunNode(const Node& node, int64_t opset,
                                             std::vector<NdArray> inputs) {
  OnnxModel file = {.opsets = {{"", opset}}};
  file.graph.nodes = {node};
  for (size_t k = 0; k < inputs.size(); ++k) {
    const NdArray& array = inputs[k];
    file.graph.inputs.push_back(
        {.name = node.inputs[k], .dtype_code = CodeOfDType(array.dtype())});
  }
  for (const std::string& name : node.outputs) {
    file.graph.outputs.push_back({.name = name});
  }
  return RunModel(std::move(file), std::move(inputs));
}

absl::Status RunCase(const std::string& folder, const std::string& op) {
  if (absl::EndsWith(folder, "/test_adam_multiple")) {
    return absl::UnimplementedError(
        "its expected values have an epsilon of 0.01, which the model does not "
        "say");
  }
  OCANNL_ASSIGN_OR_RETURN(OnnxModel file, LoadModel(folder));
  std::vector<NdArray> inputs;
  for (size_t k = 0; k < file.graph.inputs.size(); ++k) {
    OCANNL_ASSIGN_OR_RETURN(
        inputs.emplace_back(),
        LoadTensor(folder, "input", k, file.graph.inputs[k]));
  }
  OCANNL_ASSIGN_OR_RETURN(const std::vector<NdArray> outputs,
                          RunModel(file, inputs));
  for (size_t k = 0; k < outputs.size(); ++k) {
    const NdArray& found = outputs[k];
    OCANNL_ASSIGN_OR_RETURN(
        NdArray expected,
        LoadTensor(folder, "output", k, file.graph.outputs[k]));
    if (found.dims() != expected.dims()) {
      return absl::InternalError(
          absl::StrCat("output ", k, " is ", absl::StrJoin(found.dims(), ","),
                       ", not ", absl::StrJoin(expected.dims(), ",")));
    }
    OCANNL_RETURN_IF_ERROR(
        Compare(found, expected, ToleranceOf(found.dtype(), file, op, folder)));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::onnx
