// SPDX-License-Identifier: Apache-2.0
//
// The tensors of the operations of ops.h.
#ifndef OCANNL_TRAIN_TRAINER_PRIMITIVES_H_
#define OCANNL_TRAIN_TRAINER_PRIMITIVES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/trainer/op_call.h"

namespace ocannl::train {

struct Operand {
  Tensor tensor;
  Dims dims;  // all of them output axes
};

// Adds the tensor of `call`, which is no leaf, to `graph`. `step` is the static
// index that random numbers depend on. Errors, which do not name the call: what
// does not fit.
absl::StatusOr<Tensor> AddPrimitive(Graph& graph, const OpCall& call,
                                    absl::Span<const Operand> operands,
                                    int32_t step);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TRAINER_PRIMITIVES_H_
