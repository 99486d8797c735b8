// SPDX-License-Identifier: Apache-2.0
//
// What names in specs stand for, beyond what the operands say.
//
//   Tensor h = Einsum("i; i->o => o", x, w);
//   SetDim(h, "o", 16);             // w has 16 outputs
//   SetEqual(h, "o", g, "..v..");   // as many as v has cells, in the spec of g
//   Tensor mean = sum / EmbedDim(sum, "i");
#ifndef OCANNL_CORE_TENSOR_DIMS_H_
#define OCANNL_CORE_TENSOR_DIMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// From the next inference on, the axis "i", or all of the row variable "..v..",
// in the spec that made `of` has `size` cells; InferShapes reports what does
// not fit. A row of which nothing else is known becomes one axis. Errors: a
// name that the spec does not have; a size below 1. On an error node: nothing.
absl::Status SetDim(Tensor of, absl::string_view name, int64_t size);

// Likewise, as many as a name in the spec that made `other`: two row variables
// become equal axis by axis. Errors: also tensors of two graphs.
absl::Status SetEqual(Tensor of, absl::string_view name, Tensor other,
                      absl::string_view other_name);

// Likewise: at least so many cells; they are as many if nothing tells.
// Errors: also a row variable.
absl::Status SetAtLeast(Tensor of, absl::string_view name, int64_t size);

// Likewise: the axes of the row variable, from its first. Errors: also an axis.
absl::Status SetDims(Tensor of, absl::string_view name, Dims sizes);

// Likewise, `factor` times as many as an axis in the spec that made `other`.
// Errors: also row variables; a factor below 1 or above 65536; tensors of two
// graphs.
absl::Status SetScale(Tensor of, absl::string_view name, int64_t factor,
                      Tensor other, absl::string_view other_name);

// The number of cells of what a name in the spec that made `of` stands for, as
// f32 unless beside another dtype. An error node for a name it does not have.
Tensor EmbedDim(Tensor of, absl::string_view name,
                SourceLocation where = SourceLocation::Current());

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_DIMS_H_
