// SPDX-License-Identifier: Apache-2.0
//
// CompiledCode: what steps and predictions have in common: code, the routine
// that it was compiled to, and the arrays that its caller gives.
#ifndef PYTHON_NATIVE_CODE_H_
#define PYTHON_NATIVE_CODE_H_

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ocannl/ocannl.h"
#include "python/native/arrays.h"
#include "python/native/session.h"

namespace ocannl::python {

// An array that the caller of a routine gives.
struct Slot {
  std::string name;  // of the array
  std::string key;   // for the user
  std::string what;  // the key in messages
  DType dtype;
  Dims dims;
};

// Its work on arrays keeps it alive.
class CompiledCode : public std::enable_shared_from_this<CompiledCode> {
 public:
  using Inputs = std::vector<std::pair<std::string, Node>>;

  virtual ~CompiledCode() = default;  // pybind11 casts between equal addresses

  // The keys of the inputs that the code reads.
  const std::vector<pybind11::str>& keys() const { return keys_; }

  // The stages of the code as text, by name. Raises ocannl.Error, as others
  // below: there are several routines.
  std::map<std::string, std::string> Explain() const;

  // Where the time of its runs went, as a table. Raises ocannl.Error: the
  // session measures no time.
  std::string ProfileText() const;

  // The optimised program, as the tuner takes it.
  std::string ProgramText() const;

 protected:
  // `kind` is the name of the code; a number is put behind one that is taken.
  CompiledCode(SessionPtr session, const std::string& kind);

  // What a compilation makes.
  struct Compiled {
    Assignments code;
    std::optional<Routine> routine;
  };
  void SetCode(Compiled made, const Inputs& inputs);
  // Of those `inputs` that the program reads.
  void SetSlots(const LoopProgram& program, const Inputs& inputs);

  // Raises ocannl.Error: there are several routines, and no code_.
  void CheckIsOne() const;

  // The optimised program after a script of rewrites. Error: a line is refused.
  absl::StatusOr<Routine> Rewritten(const std::string& script) const;

  // Sets the number of the step, where the routine depends on it.
  std::optional<StaticRef> StepNumber() const;

  // `values` as the arrays of the slots, in that order.
  std::vector<ArrayView> ViewsOf(
      const std::vector<pybind11::object>& values) const;

  // Copies `views` into the arrays of the slots.
  absl::Status Write(const std::vector<ArrayView>& views) const;

  SessionPtr session_;
  std::string name_;
  Assignments code_;
  std::optional<Routine> routine_;
  std::vector<Slot> slots_;
  std::vector<pybind11::str> keys_;  // of them
};

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_CODE_H_
