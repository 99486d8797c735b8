// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/import.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/onnx/import_nodes.h"
#include "ocannl/onnx/rules/operators.h"
#include "ocannl/train/run/forward_all.h"

namespace ocannl::onnx {
namespace {

class Importer {
 public:
  Importer(const OnnxModel& file, const ImportOptions& options)
      : file_(file), options_(options) {}

  absl::StatusOr<ImportedModel> Import() {
    net_.model = std::make_unique<train::Model>();
    OCANNL_RETURN_IF_ERROR(Check());
    Scope scope;
    OCANNL_RETURN_IF_ERROR(AddInputs(scope));
    NodeImporter nodes(file_.opsets, options_, net_);
    OCANNL_RETURN_IF_ERROR(nodes.AddGraph(file_.graph, scope));
    OCANNL_RETURN_IF_ERROR(nodes.Unsupported());
    OCANNL_RETURN_IF_ERROR(AddOutputs(scope));
    return std::move(net_);
  }

  absl::Status Check() const {
    OCANNL_RETURN_IF_ERROR(CheckOpsets());
    return CheckNames();
  }

 private:
  Graph& graph() { return net_.model->graph; }

  absl::Status CheckOpsets() const {
    auto found = file_.opsets.find("");
    if (found == file_.opsets.end() || found->second <= kNewestOpset) {
      return absl::OkStatus();
    }
    return absl::UnimplementedError(
        absl::StrCat("the model is of opset ", found->second,
                     "; the newest that is known is ", kNewestOpset));
  }

  // Every name of the options is one of the model's.
  absl::Status CheckNames() const {
    std::vector<std::string> dims, inputs;
    for (const TensorInfo& info : file_.graph.inputs) {
      inputs.push_back(info.name);
      for (const Dim& dim : info.dims.value_or(std::vector<Dim>())) {
        if (!dim.size) dims.push_back(dim.name);
      }
    }
    for (const auto& [name, size] : options_.dims) {
      if (!absl::c_linear_search(dims, name)) {
        return UserError("the model has no free dimension `", name,
                         "`; it has ",
                         dims.empty() ? "none" : absl::StrJoin(dims, ", "));
      }
      if (size < 1) {
        return UserError("the dimension `", name, "` is ", size,
                         "; give a number above 0");
      }
    }
    for (const auto& [name, array] : options_.constants) {
      if (absl::c_linear_search(inputs, name)) continue;
      return UserError("the model has no input `", name, "`; it has ",
                       absl::StrJoin(inputs, ", "));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Dims> DimsOf(const TensorInfo& info) const {
    if (!info.dims) {
      return absl::UnimplementedError(
          absl::StrCat("input `", info.name, "` is of unknown rank"));
    }
    Dims dims;
    for (const Dim& dim : *info.dims) {
      auto given = options_.dims.find(dim.name);
      if (!dim.size && given == options_.dims.end()) {
        return UserError("input `", info.name, "` : ", ToString(info),
                         " has the free dimension `", dim.name,
                         "`; give its size, as in ", dim.name, "=1");
      }
      dims.push_back(dim.size ? *dim.size : given->second);
    }
    return dims;
  }

  // Whether the file and the options let the input have these dims.
  bool MayHave(const TensorInfo& info, const Dims& dims) const {
    auto may_be = [&](const Dim& dim, int64_t size) {
      if (dim.size) return *dim.size == size;
      auto given = options_.dims.find(dim.name);
      return given == options_.dims.end() || given->second == size;
    };
    return !info.dims || std::equal(info.dims->begin(), info.dims->end(),
                                    dims.begin(), dims.end(), may_be);
  }

  absl::Status AddInputs(Scope& scope) {
    for (const TensorInfo& info : file_.graph.inputs) {
      if (scope.values.contains(info.name)) {
        return UserError("two inputs are named `", info.name, "`");
      }
      if (!info.dtype_code) {
        return absl::UnimplementedError(absl::StrCat(
            "input `", info.name, "` is a sequence or an optional value"));
      }
      absl::StatusOr<DType> dtype = DTypeOfCode(*info.dtype_code);
      if (!dtype.ok()) {
        return absl::UnimplementedError(absl::StrCat(
            "input `", info.name, "`: ", dtype.status().message()));
      }
      auto constant = options_.constants.find(info.name);
      if (constant != options_.constants.end()) {
        OCANNL_RETURN_IF_ERROR(
            AddConstant(info, *dtype, constant->second, scope));
        continue;
      }
      OCANNL_ASSIGN_OR_RETURN(const Dims dims, DimsOf(info));
      OCANNL_RETURN_IF_ERROR(AddInput(info.name, *dtype, dims, scope));
    }
    return absl::OkStatus();
  }

  absl::Status AddConstant(const TensorInfo& info, DType dtype,
                           const NdArray& array, Scope& scope) {
    if (array.dtype() != dtype || !MayHave(info, array.dims())) {
      return UserError("input `", info.name, "` is ", ToString(info),
                       ", but its constant is ",
                       DescribeArray(array.dtype(), array.dims()));
    }
    scope.values[info.name] = Constant(graph(), array);
    return absl::OkStatus();
  }

  absl::Status AddInput(const std::string& name, DType dtype, const Dims& dims,
                        Scope& scope) {
    const absl::StatusOr<int64_t> bytes = ByteSize(dtype, dims);
    if (!bytes.ok() || *bytes > kMostBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "input `", name, "` is larger than ", kMostBytes, " bytes"));
    }
    NamedTensor input = {
        .name = name, .array = "", .dtype = dtype, .dims = dims};
    if (*bytes == 0) {
      scope.values[name] = Constant(graph(), NdArray(dtype, dims));
      net_.inputs.push_back(std::move(input));
      return absl::OkStatus();
    }
    const Tensor tensor =
        Input(graph(), ArrayName(name), absl::StrJoin(dims, ","), dtype);
    scope.values[name] = Value(tensor, dims);
    input.array = tensor.node().name;
    input.tensor = tensor;
    net_.inputs.push_back(std::move(input));
    return absl::OkStatus();
  }

  absl::Status AddOutputs(const Scope& scope) {
    for (const TensorInfo& info : file_.graph.outputs) {
      const std::optional<Value>* found = scope.Find(info.name);
      if (found == nullptr) {
        return UserError("no node computes the output `", info.name, "`");
      }
      const Value& value = **found;
      NamedTensor output = {.name = info.name,
                            .array = "",
                            .dtype = value.dtype(),
                            .dims = value.dims};
      if (value.cells() > 0) {
        output.tensor = OutputTensor(value, info.name);
        output.array = output.tensor->node().name;
        OCANNL_RETURN_IF_ERROR(
            InferShapes(graph(), {output.tensor->id}, net_.model->shapes));
      }
      net_.outputs.push_back(std::move(output));
    }
    return absl::OkStatus();
  }

  // A tensor of its own under the output's name: a copy of an input, a constant
  // or another output.
  Tensor OutputTensor(const Value& value, const std::string& name) {
    Tensor tensor = value.tensor();
    const bool is_other =
        absl::c_any_of(net_.outputs, [&](const NamedTensor& other) {
          return other.tensor && other.tensor->id == tensor.id;
        });
    if (is_other || OperandsOf(tensor.node().source).empty()) {
      Shape shape;
      shape[RowKind::kOutput] = value.dims;
      tensor = Reshape(value.arg, shape);
    }
    graph().Rename(tensor.id, ArrayName(name));
    return {&graph(), tensor.id};
  }

  const OnnxModel& file_;
  const ImportOptions& options_;
  ImportedModel net_;
};

}  // namespace

absl::StatusOr<ImportedModel> Import(const OnnxModel& file,
                                     const ImportOptions& options) {
  return Importer(file, options).Import();
}

absl::Status CheckImport(const OnnxModel& file, const ImportOptions& options) {
  OCANNL_RETURN_IF_ERROR(Importer(file, options).Check());
  ImportedModel none;
  NodeImporter nodes(file.opsets, options, none);
  nodes.CheckNodes(file.graph);
  return nodes.Unsupported();
}

absl::StatusOr<ImportedModel> ImportFile(const std::string& path,
                                         const ImportOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const OnnxModel file, ReadModelFile(path));
  absl::StatusOr<ImportedModel> net = Import(file, options);
  OCANNL_RETURN_IF_ERROR(ErrorIn(path, net.status()));
  return net;
}

absl::StatusOr<Assignments> Forward(ImportedModel& net) {
  std::vector<Tensor> outputs;
  for (const NamedTensor& output : net.outputs) {
    if (output.tensor) outputs.push_back(*output.tensor);
  }
  constexpr char kName[] = "model_fwd";
  if (outputs.empty()) return train::Sequence(kName, {});
  // It may be called again.
  ComputedBy before = std::exchange(net.model->computed_by, {});
  absl::StatusOr<Assignments> code =
      train::ForwardAll(*net.model, outputs, kName);
  net.model->computed_by = std::move(before);
  return code;
}

absl::StatusOr<Assignments> ForwardOfFile(ImportedModel& net) {
  OCANNL_ASSIGN_OR_RETURN(Assignments code, Forward(net));
  for (Array& array : code.arrays) {
    auto found =
        absl::c_find_if(net.parameters, [&](const NamedTensor& parameter) {
          return parameter.array == array.name;
        });
    if (found != net.parameters.end()) array.data = found->data;
  }
  return code;
}

}  // namespace ocannl::onnx
