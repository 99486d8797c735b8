// SPDX-License-Identifier: Apache-2.0
//
// OnnxModel: a model of an ONNX file that runs.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/session.h"
#include "python/native/arrays.h"
#include "python/native/interruptible.h"
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
    const auto file = std::make_shared<onnx::OnnxModel>();
    Check(Interruptible(loaded_, [=]() -> absl::Status {
      OCANNL_ASSIGN_OR_RETURN(*file, onnx::ReadModelFile(path));
      return absl::OkStatus();
    }));
    onnx::ImportOptions options = {.dims = dims};
    options.constants = ArraysOf(*file, constants);
    // Those that are no inputs are an error of Make.
    for (const auto& [name, value] : constants) options.constants[name];
    Check(Interruptible(loaded_, [=, loaded = loaded_] {
      absl::StatusOr<onnx::SessionTable> made =
          onnx::SessionTable::Make(std::move(*file), options, *backend);
      if (made.ok()) loaded->table.emplace(*std::move(made));
      return onnx::ErrorIn(path, made.status());
    }));
    if (const onnx::Session* only = loaded_->table->only()) {
      inputs_ = DescriptionsOf(only->inputs());
      outputs_ = DescriptionsOf(only->outputs());
    } else {
      const onnx::OnnxGraph& graph = loaded_->table->file().graph;
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
    return loaded_->table->file().metadata;
  }

  Values Parameters() const {
    Values arrays;
    const onnx::OnnxGraph& graph = loaded_->table->file().graph;
    for (const auto& [name, array] : graph.initializers) {
      if (onnx::IsParameter(array)) arrays.emplace(name, ToPython(array));
    }
    return arrays;
  }

  Values Run(const Values& values) {
    loaded_->CheckProcess();
    const auto outputs = std::make_shared<std::map<std::string, NdArray>>();
    auto arrays = ArraysOf(loaded_->table->file(), values);
    size_t dims = 0;
    for (const auto& [name, array] : arrays) {
      dims = absl::HashOf(dims, array.dims());
    }
    Check(pace_.Do(
        loaded_,
        [outputs, loaded = loaded_,
         arrays = std::move(arrays)]() -> absl::Status {
          OCANNL_ASSIGN_OR_RETURN(*outputs, loaded->table->Run(arrays));
          return absl::OkStatus();
        },
        dims));
    Values results;
    for (const auto& [name, array] : *outputs) {
      results.emplace(name, ToPython(array));
    }
    return results;
  }

 private:
  struct Loaded : Workplace {
    std::optional<onnx::SessionTable> table;
  };

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

  std::shared_ptr<Loaded> loaded_ = std::make_shared<Loaded>();
  std::vector<Described> inputs_, outputs_;
  Pace pace_;
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
