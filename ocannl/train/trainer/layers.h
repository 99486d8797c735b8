// SPDX-License-Identifier: Apache-2.0
//
// The linear map, normalisations and attention of ops.h.
#ifndef OCANNL_TRAIN_TRAINER_LAYERS_H_
#define OCANNL_TRAIN_TRAINER_LAYERS_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/trainer/op_call.h"
#include "ocannl/train/trainer/primitives.h"

namespace ocannl::train {

// Linear, LayerNorm or BatchnormChannelFirst, and MultiHeadAttention. Errors,
// which do not name the call: what does not fit.
absl::StatusOr<Tensor> LinearMap(absl::Span<const Operand> operands);
absl::StatusOr<Tensor> Normalise(const OpCall& call,
                                 absl::Span<const Operand> operands);
absl::StatusOr<Tensor> Attend(const OpCall& call,
                              absl::Span<const Operand> operands);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TRAINER_LAYERS_H_
