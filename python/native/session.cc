// SPDX-License-Identifier: Apache-2.0
#include "python/native/session.h"

#include <cxxabi.h>
#include <unistd.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace py = pybind11;

namespace ocannl::python {

void Raise(const std::string& message) {
  static const auto* error =
      new py::object(py::module_::import("ocannl._errors").attr("Error"));
  static const auto* in_python =
      new py::object(py::module_::import("ocannl._errors").attr("in_python"));
  PyErr_SetObject(error->ptr(), (*in_python)(message).ptr());
  throw py::error_already_set();
}

void Check(const absl::Status& status) {
  if (!status.ok()) Raise(std::string(status.message()));
}

UserLine::operator SourceLocation() const {
  static auto* files = new std::set<std::string>();
  return {.file = files->insert(file).first->c_str(), .line = line};
}

Session::Session(const std::string& tier, uint32_t seed, int most_threads,
                 bool measures, std::optional<DType> layer_dtype)
    : profile(measures),
      threads(most_threads),
      dtype(layer_dtype),
      device("host",
             Check(FindTier(tier, {.threads = threads, .profile = profile}))),
      training{.step = model.graph.AddStatic("step", std::nullopt)} {
  model.graph.set_seed(seed);
}

Unlocked::~Unlocked() {
  working_.unlock();
  // When the interpreter has ended, it ends this thread. The frames below have
  // objects of Python, so that the thread waits for the end of the process.
  try {
    PyEval_RestoreThread(thread_);
  } catch (const abi::__forced_unwind&) {
    while (true) pause();
  }
}

void Workplace::CheckProcess() const {
  if (getpid() == process) return;
  Raise(
      "the model was made before fork(), and its threads are not in this "
      "process; make the model after it, or start processes by "
      "multiprocessing.get_context(\"spawn\")");
}

Node Checked(const std::shared_ptr<Session>& session, Tensor tensor) {
  if (const auto* error = std::get_if<ErrorSource>(&tensor.node().source)) {
    Raise(std::string(error->status.message()));
  }
  return {session, tensor};
}

std::vector<Tensor> TensorsOf(const std::vector<Node>& nodes) {
  std::vector<Tensor> tensors;
  for (const Node& node : nodes) tensors.push_back(node.tensor);
  return tensors;
}

}  // namespace ocannl::python
