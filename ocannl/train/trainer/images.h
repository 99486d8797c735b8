// SPDX-License-Identifier: Apache-2.0
//
// Pooling and convolutions of ops.h, with channels first and any number of
// axes.
#ifndef OCANNL_TRAIN_TRAINER_IMAGES_H_
#define OCANNL_TRAIN_TRAINER_IMAGES_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/trainer/op_call.h"
#include "ocannl/train/trainer/primitives.h"

namespace ocannl::train {

// The tensor of `call`, a pooling or a convolution. Errors, which do not name
// the call: what does not fit.
absl::StatusOr<Tensor> AddImageOp(const OpCall& call,
                                  absl::Span<const Operand> operands);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TRAINER_IMAGES_H_
