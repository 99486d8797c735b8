// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/tape_routine.h"

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"

namespace ocannl::train {

absl::StatusOr<TapeRoutine> TapeRoutine::Link(const Tape& tape,
                                              const Assignments& code,
                                              const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, CompileProgram(code, {}));
  OCANNL_ASSIGN_OR_RETURN(Routine made,
                          context.CompileAndLink(std::move(program)));
  TapeRoutine linked(std::move(made));
  for (const StaticRef& index : linked.routine_.statics()) {
    if (index.name() == Tape::kStep) linked.step_ = index;
    for (uint32_t slot = 0; slot < tape.num_args(); ++slot) {
      if (index.name() == Tape::IndexName(slot)) {
        linked.indices_.emplace_back(index, slot);
      }
    }
  }
  return linked;
}

absl::Status TapeRoutine::Run(const Tape& tape, int64_t step) {
  for (auto& [index, slot] : indices_) {
    CHECK_OK(index.Set(tape.leaf(slot).index));  // Session::Use has checked it
  }
  if (step_) CHECK_OK(step_->Set(step));
  return routine_.Run();
}

}  // namespace ocannl::train
