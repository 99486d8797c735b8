// SPDX-License-Identifier: Apache-2.0
//
// ForwardAll: the code of several tensors.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       const Assignments code,
//       train::ForwardAll(model, {logits, attention}, "predict"));
#ifndef OCANNL_TRAIN_RUN_FORWARD_ALL_H_
#define OCANNL_TRAIN_RUN_FORWARD_ALL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// The code that computes all of `outputs`, whose values are kept after a run.
// Tensors that they share are computed once. If `name` is empty, the code is
// called as that of the first output. Errors: those of Forward; there are no
// outputs.
absl::StatusOr<Assignments> ForwardAll(Model& model,
                                       absl::Span<const Tensor> outputs,
                                       std::string name);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_RUN_FORWARD_ALL_H_
