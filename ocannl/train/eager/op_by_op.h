// SPDX-License-Identifier: Apache-2.0
//
// OpByOp: computes the operations of a tape one at a time, each by a routine of
// its own that keeps its value. As the IR fixes every rounding, the bits are
// those of the whole step as one routine.
#ifndef OCANNL_TRAIN_EAGER_OP_BY_OP_H_
#define OCANNL_TRAIN_EAGER_OP_BY_OP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/train/eager/param_list.h"
#include "ocannl/train/eager/tape.h"
#include "ocannl/train/eager/tape_routine.h"

namespace ocannl::train {

class OpByOp {
 public:
  // The tape and the stream must outlive it.
  OpByOp(Tape* tape, Stream* stream) : tape_(tape), context_(stream) {}

  // Computes what is not computed yet in the step `epoch`, up to `slot`.
  // Errors: those of compiling and running.
  absl::Status ComputeUpTo(uint32_t slot, uint64_t epoch,
                           const ParamList* params, int64_t step);

  // Errors: an index, which has no value; those of Context::Read.
  absl::StatusOr<NdArray> Read(uint32_t slot);

 private:
  absl::StatusOr<TapeRoutine> Link(uint32_t slot);
  absl::Status Write(const std::string& param, const ParamList& params);
  absl::Status Compute(uint32_t slot, const ParamList* params, int64_t step);

  Tape* tape_;
  Context context_;
  std::vector<std::optional<TapeRoutine>> routines_;  // none of leaves
  uint64_t epoch_ = 0;
  uint32_t computed_ = 0;  // of that step
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_OP_BY_OP_H_
