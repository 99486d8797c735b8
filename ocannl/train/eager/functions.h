// SPDX-License-Identifier: Apache-2.0
//
// The functions of tensors behind the operations of ops.h, which says what they
// compute. Errors, which do not name the call: what does not fit.
#ifndef OCANNL_TRAIN_EAGER_FUNCTIONS_H_
#define OCANNL_TRAIN_EAGER_FUNCTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/eager/op_call.h"

namespace ocannl::train {

// How windows lie on an image; all vectors have one number for each axis.
struct Windows {
  Dims kernel = {};
  Dims stride = {};         // empty: 1
  Dims padding = {};        // before each axis, and after it; empty: 0
  Dims padding_after = {};  // if it is another one than before
  Dims dilation = {};       // empty: 1
  // Of pooling. Rounds the number of windows up: the last one may end beyond
  // the padding, but starts in the image or the padding before it.
  bool ceil = false;
  // Of AvgPool: whether the cells of the padding count, as 0.
  bool count_padding = true;
};

namespace fn {

using Made = absl::StatusOr<Tensor>;

// Error: other sizes. Of one size in other rows, both get output axes only.
absl::Status MakeAlike(Shaped& a, Shaped& b);

// F of each cell of operands of one shape.
template <Tensor (*F)(const Arg&, const Arg&)>
Made OfOneShape(Shaped a, Shaped b) {
  OCANNL_RETURN_IF_ERROR(MakeAlike(a, b));
  return F(a.tensor, b.tensor);
}
// F of each cell, of floats.
absl::Status CheckFloats(Tensor x);
template <Tensor (*F)(const Arg&)>
Made OfFloats(Tensor x) {
  OCANNL_RETURN_IF_ERROR(CheckFloats(x));
  return F(x);
}
inline Made Inv(Tensor x) { return OfFloats<&Recip>(x); }

Made MseLoss(Shaped a, Shaped b, SourceLocation where);

Made Scale(Tensor x, double factor);
Made Shift(Tensor x, double summand);
Made Clamp(Tensor x, double low, double high);
Made Sqrt(Tensor x);
Made SafeLog(Tensor x, double epsilon);
Made TokenIds(Tensor x);
Tensor Abs(Tensor x);
Tensor Detach(Tensor x);
Made Softmax(const Operand& x, SourceLocation where);
Made LogSoftmax(const Operand& x, SourceLocation where);

Made AsBatch(const Shaped& x, int axes);
Made BroadcastTo(const Operand& x, const Dims& dims);
Made Reshape(const Operand& x, const Dims& dims);
Made Permute(const Operand& x, const Dims& order);
Made Transpose2d(const Operand& x);

Tensor Sum(const Operand& x);
Made ReduceSum(const Operand& x, int axis);
Made ReduceMean(const Operand& x, int axis);

Made Gather(const Operand& x, const Operand& ids, SourceLocation where);
Made ScatterAdd(const Operand& x, const Operand& ids, const Operand& values,
                SourceLocation where);
Made Select(const Operand& x, Tensor index);
Made Cell(const Operand& x, int64_t index);
Made Slice(const Operand& x, int64_t start, int64_t size);
Made Concat(absl::Span<const Operand> parts);

Made Matmul(const Operand& a, const Operand& b);
Made Bmm(const Operand& a, const Operand& b);
Made Linear(const Operand& w, const Operand& b, const Operand& x);

Made MaxPool(const Operand& x, const Windows& windows);
Made AvgPool(const Operand& x, const Windows& windows);
Made SmoothMaxPool(const Operand& x, const Windows& windows, double beta);
Made Conv(const Operand& w, const Operand& b, const Operand& x,
          const Windows& windows);
Made ConvTranspose(const Operand& w, const Operand& b, const Operand& x,
                   const Windows& windows);

Made LayerNorm(const Operand& x, const Operand& gamma, const Operand& beta);
Made BatchnormChannelFirst(const Operand& x, const Operand& gamma,
                           const Operand& beta);
Made MultiHeadAttention(const Operand& wq, const Operand& wk, const Operand& wv,
                        const Operand& wo, const Operand& x, int64_t heads,
                        const std::optional<Operand>& mask,
                        SourceLocation where);

Made RandUniform(Graph& graph, StepIndex step, const Dims& dims);
Made BernoulliMask(Graph& graph, StepIndex step, const Operand& keep,
                   const Dims& dims);

}  // namespace fn
}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_FUNCTIONS_H_
