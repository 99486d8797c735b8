// SPDX-License-Identifier: Apache-2.0
//
// TapeRoutine: a routine of a tape's graph, with the static indices that it has
// of the tape.
#ifndef OCANNL_TRAIN_EAGER_TAPE_ROUTINE_H_
#define OCANNL_TRAIN_EAGER_TAPE_ROUTINE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/train/eager/tape.h"

namespace ocannl::train {

class TapeRoutine {
 public:
  // Compiles `code` of the graph of `tape`, or of a copy, without the data of
  // leaves, which may have other values by now. Errors: those of CompileProgram
  // and Context::CompileAndLink.
  static absl::StatusOr<TapeRoutine> Link(const Tape& tape,
                                          const Assignments& code,
                                          const Context& context);

  // Runs with the values that `tape` has of its indices. Errors: those of
  // Routine::Run.
  absl::Status Run(const Tape& tape, int64_t step);

 private:
  explicit TapeRoutine(Routine routine) : routine_(std::move(routine)) {}

  Routine routine_;
  std::vector<std::pair<StaticRef, uint32_t>> indices_;  // with their slots
  std::optional<StaticRef> step_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_TAPE_ROUTINE_H_
