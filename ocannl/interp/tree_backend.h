// SPDX-License-Identifier: Apache-2.0
//
// TreeBackend: a tree-walking interpreter, slow and simple, as an oracle for
// the one of bytecode. It computes each value by what folds constants, and
// shares neither registers, nor strides, nor slots with decode.h.
//
// Observers can watch it, statement by statement (run_log.h,
// explain_nonfinite.h):
//
//   std::vector<std::unique_ptr<RunObserver>> observers;
//   observers.push_back(std::make_unique<ExplainNonfinite>());
//   TreeBackend backend(std::move(observers));
//
// The first error of an observer is the RunStatus() from then on: the run ends
// there, and no other starts, as it might read what this one did not write.
#ifndef OCANNL_INTERP_TREE_BACKEND_H_
#define OCANNL_INTERP_TREE_BACKEND_H_

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/interp/observer.h"

namespace ocannl::interp {

// Those who watch, one run at a time.
struct Observation {
  std::vector<std::unique_ptr<RunObserver>> observers;
  std::mutex mutex;
  absl::Status status;
};

class TreeBackend : public Backend {
 public:
  explicit TreeBackend(
      std::vector<std::unique_ptr<RunObserver>> observers = {}) {
    observation_.observers = std::move(observers);
  }

  absl::string_view name() const override { return "tree"; }

  // `program` must be one that Verify accepts; the backend must outlive what
  // it makes. Never an error.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

  // Error: there are observers. What is known to run often may be several
  // routines made one, of which they could not tell the names.
  absl::StatusOr<std::unique_ptr<Executable>> CompileHot(
      const LoopProgram& program) const override;

  absl::Status RunStatus() const override;

 private:
  mutable Observation observation_;
};

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_TREE_BACKEND_H_
