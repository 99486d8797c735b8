// SPDX-License-Identifier: Apache-2.0
//
// Session: the graph of a Python model, the stream that runs its code, and the
// context with its arrays.
#ifndef PYTHON_NATIVE_SESSION_H_
#define PYTHON_NATIVE_SESSION_H_

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ocannl/ocannl.h"

namespace ocannl::python {

// Raises ocannl.Error with the message of `status`, unless it is OK.
void Check(const absl::Status& status);
template <class T>
T Check(absl::StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}
// Raises ocannl.Error with `message`.
[[noreturn]] void Raise(const std::string& message);

// The line of a user's program: a file and a number.
struct UserLine {
  std::string file;
  int line = 0;

  // The file's name is kept as long as the process runs.
  operator SourceLocation() const;  // NOLINT
};

// Arrays that one thread works on at a time.
struct Workplace {
  // To be called before native work: threads do not survive a fork.
  void CheckProcess() const;

  int64_t process = getpid();
  // Held by native work on the arrays. Its holder neither waits for Python's
  // lock nor calls Python: an exception may start the garbage collection, whose
  // finalisers may use the model. What changes the graph, and compilations, are
  // for one thread at a time: model._lock in Python.
  mutable std::mutex working;
};

using SessionPtr = std::shared_ptr<struct Session>;

struct Session : Workplace {
  Session(const std::string& tier, uint32_t seed, int threads, bool profile,
          std::optional<DType> layer_dtype);

  bool profile;
  int threads;  // that run one routine; 0: one a processor
  // That layers compute in; they keep their parameters in f32. None: it is that
  // of what they are applied to, for both.
  std::optional<DType> dtype;

  train::Model model;
  Device device;
  Stream stream{&device};
  // The base of all routines, so that none depends on another's runs.
  Context context{&stream};
  train::Training training;
  // The result of the block that made each update of `training`: a step makes
  // the updates of the blocks that its loss was computed through.
  std::vector<TensorId> updated_with;
};

// Native work on the arrays of a workplace, without Python's lock, one thread
// at a time.
class Unlocked {
 public:
  explicit Unlocked(const Workplace& place)
      : thread_(PyEval_SaveThread()), working_(place.working) {}
  Unlocked(const Unlocked&) = delete;
  ~Unlocked();

 private:
  PyThreadState* thread_;
  std::unique_lock<std::mutex> working_;
};

// What `work` returns, a status or a value with one, under Unlocked.
template <class Work>
auto DoUnlocked(const Workplace& place, Work work) {
  const Unlocked unlocked(place);
  return work();
}

// A tensor of the session's graph.
struct Node {
  std::shared_ptr<Session> session;
  Tensor tensor;
};

// Raises ocannl.Error if the tensor is an error node.
Node Checked(const std::shared_ptr<Session>& session, Tensor tensor);

// The tensors of nodes, all of `session`.
std::vector<Tensor> TensorsOf(const std::vector<Node>& nodes);

// Each adds one part of the bindings to `module`.
void BindArrays(pybind11::module_& module);
void BindBlocks(pybind11::module_& module);
void BindCode(pybind11::module_& module);
void BindGeneration(pybind11::module_& module);
void BindOnnx(pybind11::module_& module);
void BindParameters(pybind11::module_& module);
void BindPredictions(pybind11::module_& module);
void BindRules(pybind11::module_& module);
void BindSteps(pybind11::module_& module);
void BindTensors(pybind11::module_& module);
void BindText(pybind11::module_& module);
void BindTuning(pybind11::module_& module);

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_SESSION_H_
