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
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/session.h"
#include "python/native/arrays.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

// The name, the dtype and the sizes.
using Described = std::tuple<std::string, std::string, Dims>;

std::vector<Described> DescriptionsOf(
    const std::vector<onnx::NamedTensor>& tensors) {
  std::vector<Described> described;
  for (const onnx::NamedTensor& tensor : tensors) {
    described.emplace_back(tensor.name, Name(tensor.dtype), tensor.dims);
  }
  return described;
}

class OnnxModel {
 public:
  OnnxModel(const std::string& path, const std::map<std::string, int64_t>& dims,
            const std::string& tier, int threads) {
    const Backend* backend = Check(FindTier(tier, {.threads = threads}));
    absl::StatusOr<onnx::Session> loaded = absl::UnknownError("");
    {
      const py::gil_scoped_release unlocked;
      loaded = onnx::Session::Load(path, {.dims = dims}, *backend);
    }
    session_.emplace(Check(std::move(loaded)));
  }

  std::vector<Described> Inputs() const {
    return DescriptionsOf(session_->inputs());
  }
  std::vector<Described> Outputs() const {
    return DescriptionsOf(session_->outputs());
  }

  std::map<std::string, py::object> Parameters() const {
    std::map<std::string, py::object> arrays;
    for (const onnx::NamedTensor& parameter : session_->parameters()) {
      arrays.emplace(parameter.name, ToPython(*parameter.data));
    }
    return arrays;
  }

  std::map<std::string, py::object> Run(
      const std::map<std::string, py::object>& values) {
    if (getpid() != process_) Raise("the model was loaded before fork()");
    std::map<std::string, NdArray> arrays;
    for (const onnx::NamedTensor& input : session_->inputs()) {
      const auto value = values.find(input.name);
      if (value == values.end()) continue;  // Run says so
      const std::string what = absl::StrCat("`", input.name, "`");
      const ArrayView view = ViewOf(value->second, input.dtype, what);
      if (input.dims != Dims(view.dims.begin(), view.dims.end())) {
        Raise(absl::StrCat(what, " has the shape (",
                           absl::StrJoin(view.dims, ", "), "), but (",
                           absl::StrJoin(input.dims, ", "), ") is needed"));
      }
      arrays.emplace(input.name, ArrayOf(view));
    }
    absl::StatusOr<std::map<std::string, NdArray>> outputs =
        absl::UnknownError("");
    {
      const py::gil_scoped_release unlocked;
      const std::lock_guard working(working_);
      outputs = session_->Run(arrays);
    }
    std::map<std::string, py::object> results;
    for (const auto& [name, array] : Check(std::move(outputs))) {
      results.emplace(name, ToPython(array));
    }
    return results;
  }

 private:
  std::optional<onnx::Session> session_;
  std::mutex working_;  // held by runs, which do not wait for Python's lock
  int64_t process_ = getpid();
};

}  // namespace

void BindOnnx(py::module_& module) {
  py::class_<OnnxModel>(module, "OnnxModel")
      .def(py::init<const std::string&, const std::map<std::string, int64_t>&,
                    const std::string&, int>())
      .def("inputs", &OnnxModel::Inputs)
      .def("outputs", &OnnxModel::Outputs)
      .def("parameters", &OnnxModel::Parameters)
      .def("run", &OnnxModel::Run);
}

}  // namespace ocannl::python
