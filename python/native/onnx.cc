// SPDX-License-Identifier: Apache-2.0
//
// OnnxModel: a model of an ONNX file that runs.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/session.h"
#include "python/native/arrays.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

// The name, the dtype and the sizes, of which the free ones are names; none: of
// unknown rank.
using Size = std::variant<int64_t, std::string>;
using Described =
    std::tuple<std::string, std::string, std::optional<std::vector<Size>>>;

std::vector<Described> DescriptionsOf(
    const std::vector<onnx::NamedTensor>& tensors) {
  std::vector<Described> described;
  for (const onnx::NamedTensor& tensor : tensors) {
    described.emplace_back(
        tensor.name, Name(tensor.dtype),
        std::vector<Size>(tensor.dims.begin(), tensor.dims.end()));
  }
  return described;
}

std::vector<Described> DescriptionsOf(
    const std::vector<onnx::TensorInfo>& infos,
    const std::map<std::string, int64_t>& sizes) {
  std::vector<Described> described;
  for (const onnx::TensorInfo& info : infos) {
    const auto dtype = onnx::DTypeOfCode(info.dtype_code.value_or(0));
    auto& [name, type, dims] = described.emplace_back();
    name = info.name;
    type = std::string(dtype.ok() ? Name(*dtype) : "unknown");
    if (!info.dims) continue;
    dims.emplace();
    for (const onnx::Dim& dim : *info.dims) {
      const auto given = sizes.find(dim.name);
      Size size = dim.name;
      if (dim.size) size = *dim.size;
      if (!dim.size && given != sizes.end()) size = given->second;
      dims->push_back(std::move(size));
    }
  }
  return described;
}

class OnnxModel {
 public:
  using Values = std::map<std::string, py::object>;

  OnnxModel(const std::string& path, const std::map<std::string, int64_t>& dims,
            const Values& constants, const std::string& tier, int threads) {
    const Backend* backend = Check(FindTier(tier, {.threads = threads}));
    absl::StatusOr<onnx::OnnxModel> file = onnx::OnnxModel();
    {
      const py::gil_scoped_release unlocked;
      file = onnx::ReadModelFile(path);
    }
    Check(file.status());
    onnx::ImportOptions options = {.dims = dims};
    options.constants = ArraysOf(*file, constants);
    // Those that are no inputs are an error of Make.
    for (const auto& [name, value] : constants) options.constants[name];
    absl::StatusOr<onnx::SessionTable> made = absl::UnknownError("");
    {
      const py::gil_scoped_release unlocked;
      made = onnx::SessionTable::Make(*std::move(file), options, *backend);
    }
    Check(onnx::InFile(path, made.status()));
    table_.emplace(*std::move(made));
    if (const onnx::Session* only = table_->only()) {
      inputs_ = DescriptionsOf(only->inputs());
      outputs_ = DescriptionsOf(only->outputs());
    } else {
      const onnx::OnnxGraph& graph = table_->file().graph;
      inputs_ = DescriptionsOf(graph.inputs, dims);
      std::erase_if(inputs_, [&](const Described& each) {
        return constants.contains(std::get<0>(each));
      });
      outputs_ = DescriptionsOf(graph.outputs, dims);
    }
  }

  const std::vector<Described>& Inputs() const { return inputs_; }
  const std::vector<Described>& Outputs() const { return outputs_; }
  const std::map<std::string, std::string>& Metadata() const {
    return table_->file().metadata;
  }

  Values Parameters() const {
    Values arrays;
    for (const auto& [name, array] : table_->file().graph.initializers) {
      if (onnx::IsParameter(array)) arrays.emplace(name, ToPython(array));
    }
    return arrays;
  }

  Values Run(const Values& values) {
    if (getpid() != process_) Raise("the model was loaded before fork()");
    const std::map<std::string, NdArray> arrays =
        ArraysOf(table_->file(), values);
    absl::StatusOr<std::map<std::string, NdArray>> outputs =
        absl::UnknownError("");
    {
      const py::gil_scoped_release unlocked;
      const std::lock_guard working(working_);
      outputs = table_->Run(arrays);
    }
    Values results;
    for (const auto& [name, array] : Check(std::move(outputs))) {
      results.emplace(name, ToPython(array));
    }
    return results;
  }

 private:
  // Of those that are inputs of the file.
  static std::map<std::string, NdArray> ArraysOf(const onnx::OnnxModel& file,
                                                 const Values& values) {
    std::map<std::string, NdArray> arrays;
    for (const onnx::TensorInfo& input : file.graph.inputs) {
      const auto value = values.find(input.name);
      if (value == values.end()) continue;
      const DType dtype =
          Check(onnx::DTypeOfCode(input.dtype_code.value_or(0)));
      const std::string what = absl::StrCat("`", input.name, "`");
      arrays.emplace(input.name, ArrayOf(ViewOf(value->second, dtype, what)));
    }
    return arrays;
  }

  std::optional<onnx::SessionTable> table_;
  std::vector<Described> inputs_, outputs_;
  std::mutex working_;  // held by runs, which do not wait for Python's lock
  int64_t process_ = getpid();
};

}  // namespace

void BindOnnx(py::module_& module) {
  py::class_<OnnxModel>(module, "OnnxModel")
      .def(py::init<const std::string&, const std::map<std::string, int64_t>&,
                    const OnnxModel::Values&, const std::string&, int>())
      .def("inputs", &OnnxModel::Inputs)
      .def("outputs", &OnnxModel::Outputs)
      .def("metadata", &OnnxModel::Metadata)
      .def("parameters", &OnnxModel::Parameters)
      .def("run", &OnnxModel::Run);
}

}  // namespace ocannl::python
