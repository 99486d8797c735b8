// SPDX-License-Identifier: Apache-2.0
//
// Ops: the operations of a loss that is written once, for an eager session
// (session.h), which computes each at once, and for a compiled graph:
//
//   Ref MeanSquares(Ops& ops, absl::Span<const Ref> args) {  // w, b, x, y
//     return ops.MseLoss(ops.Linear(args[0], args[1], args[2]), args[3]);
//   }
//
// A shape is a list of sizes, {} that of a number; nothing broadcasts unless it
// says so. An operation that fails makes `status` an error, which names the
// operation, its shapes and the caller's line; what is built on it is not
// looked at. Derivatives at corners are those of the engine (core/ops/ops.def):
// 0 at 0 of abs and relu, that of the operand which max and min took; besides,
// 0 outside of the open interval of Clamp, and of Sqrt for numbers that are not
// above 0.
//
// Each is a function of tensors; Calls::Call (calls.h) takes any. Blocks
// (ocannl/train/blocks) are applied in the same way; AsBatch gives them batch
// axes, and operations read all axes of their results as one list.
//
// What the functions compute, and most names, follow the trainer of TorchLean
// (github.com/lean-dojo/TorchLean); ocannl/train/compat has other names. Images
// have channels first and no batch.
#ifndef OCANNL_TRAIN_EAGER_OPS_H_
#define OCANNL_TRAIN_EAGER_OPS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/eager/calls.h"
#include "ocannl/train/eager/functions.h"

namespace ocannl::train {

#define OCANNL_OF_1(name, function)              \
  Ref name(Ref x, Where at = Where::Current()) { \
    return CallAt<&fn::function>(at, x);         \
  }
#define OCANNL_OF_2(name, function)                     \
  Ref name(Ref a, Ref b, Where at = Where::Current()) { \
    return CallAt<&fn::function>(at, a, b);             \
  }
#define OCANNL_OF_3(name, function)                            \
  Ref name(Ref a, Ref b, Ref c, Where at = Where::Current()) { \
    return CallAt<&fn::function>(at, a, b, c);                 \
  }

class Ops : public Calls {
 public:
  // Of each cell of operands of one shape.
  OCANNL_OF_2(Add, OfOneShape<&ocannl::Add>)
  OCANNL_OF_2(Sub, OfOneShape<&ocannl::Sub>)
  OCANNL_OF_2(Mul, OfOneShape<&ocannl::Mul>)
  OCANNL_OF_2(Max, OfOneShape<&ocannl::Max>)
  OCANNL_OF_2(Min, OfOneShape<&ocannl::Min>)
  Ref Scale(Ref x, double factor, Where at = Where::Current()) {
    return CallAt<&fn::Scale>(at, x, factor);
  }
  Ref Shift(Ref x, double summand, Where at = Where::Current()) {
    return CallAt<&fn::Shift>(at, x, summand);
  }
  Ref Clamp(Ref x, double low, double high, Where at = Where::Current()) {
    return CallAt<&fn::Clamp>(at, x, low, high);
  }
  OCANNL_OF_1(Abs, Abs)
  OCANNL_OF_1(Sqrt, Sqrt)
  OCANNL_OF_1(Inv, Inv)  // 1 / x
  OCANNL_OF_1(Relu, OfFloats<&ocannl::Relu>)
  OCANNL_OF_1(Sigmoid, OfFloats<&ocannl::Sigmoid>)
  OCANNL_OF_1(Tanh, OfFloats<&ocannl::Tanh>)
  OCANNL_OF_1(Softplus, OfFloats<&ocannl::Softplus>)  // log(1 + exp(x))
  OCANNL_OF_1(Silu, OfFloats<&ocannl::Silu>)          // x sigmoid(x)
  OCANNL_OF_1(Exp, OfFloats<&ocannl::Exp>)
  OCANNL_OF_1(Log, OfFloats<&ocannl::Log>)
  // log(softplus(x) + epsilon).
  Ref SafeLog(Ref x, double epsilon = 1e-6, Where at = Where::Current()) {
    return CallAt<&fn::SafeLog>(at, x, epsilon);
  }
  // The same value, through which no gradient flows.
  OCANNL_OF_1(Detach, Detach)
  // Along the last axis; of a number 1 and 0.
  OCANNL_OF_1(Softmax, Softmax)
  OCANNL_OF_1(LogSoftmax, LogSoftmax)

  // The same cells, with the first `axes` axes as batch axes, for blocks.
  Ref AsBatch(Ref x, int axes = 1, Where at = Where::Current()) {
    return CallAt<&fn::AsBatch>(at, x, axes);
  }

  // In another shape. BroadcastTo repeats x along axes of 1 and in front, as
  // NumPy does; Permute makes axis k of what was axis order[k].
  Ref BroadcastTo(Ref x, const Dims& dims, Where at = Where::Current()) {
    return CallAt<&fn::BroadcastTo>(at, x, dims);
  }
  Ref Reshape(Ref x, const Dims& dims, Where at = Where::Current()) {
    return CallAt<&fn::Reshape>(at, x, dims);
  }
  Ref Flatten(Ref x, Where at = Where::Current());
  Ref Permute(Ref x, const Dims& order, Where at = Where::Current()) {
    return CallAt<&fn::Permute>(at, x, order);
  }
  OCANNL_OF_1(Transpose2d, Transpose2d)
  // Exchanges axes depth and depth + 1.
  Ref SwapAdjacentAtDepth(Ref x, int depth, Where at = Where::Current());

  // Sums and means; the axis is dropped.
  OCANNL_OF_1(Sum, Sum)  // of all cells
  Ref ReduceSum(Ref x, int axis, Where at = Where::Current()) {
    return CallAt<&fn::ReduceSum>(at, x, axis);
  }
  Ref ReduceMean(Ref x, int axis, Where at = Where::Current()) {
    return CallAt<&fn::ReduceMean>(at, x, axis);
  }

  // What is at an index of the first axis: of one that is known, as part of
  // the code, which must be in range; or of integers, one or a list of them,
  // where what is out of range is 0, and the gradients of one that comes twice
  // add up.
  Ref Cell(Ref x, int64_t index, Where at = Where::Current()) {
    return CallAt<&fn::Cell>(at, x, index);
  }
  OCANNL_OF_2(Gather, Gather)
  // x with `value` added to the cell, or the row, at an index; out of range, x.
  OCANNL_OF_3(ScatterAdd, ScatterAdd)
  // Floats that hold whole numbers, as indices. Without a gradient.
  OCANNL_OF_1(TokenIds, TokenIds)
  // What is at the value of an Index (TrainerInput) of the first axis, whose
  // size is the index's range.
  OCANNL_OF_2(SelectLeading, Select)

  // Parts of the first axis, and tensors one after the other along it.
  Ref SliceLeadingAxisRange(Ref x, int64_t start, int64_t size,
                            Where at = Where::Current()) {
    return CallAt<&fn::Slice>(at, x, start, size);
  }
  Ref ConcatLeadingAxis(absl::Span<const Ref> parts,
                        Where at = Where::Current()) {
    return CallAt<&fn::Concat>(at, parts);
  }

  // Products: m,n times n,p; of each of a batch; w x + b with w of out,in
  // and x of in, or of more axes in front.
  OCANNL_OF_2(Matmul, Matmul)
  OCANNL_OF_2(Bmm, Bmm)
  OCANNL_OF_3(Linear, Linear)

  // Over the windows of each channel: along an axis floor((in + padding +
  // padding_after - dilation (kernel - 1) - 1) / stride) + 1 of them. The
  // padding is never the greatest, and smaller than a window; it counts as 0 in
  // the other two, unless AvgPool does not count it, nor cells beyond it.
  // SmoothMaxPool is log(sum of exp(beta x)) / beta.
  Ref MaxPool(Ref x, const Windows& windows, Where at = Where::Current()) {
    return CallAt<&fn::MaxPool>(at, x, windows);
  }
  Ref AvgPool(Ref x, const Windows& windows, Where at = Where::Current()) {
    return CallAt<&fn::AvgPool>(at, x, windows);
  }
  Ref SmoothMaxPool(Ref x, const Windows& windows, double beta,
                    Where at = Where::Current()) {
    return CallAt<&fn::SmoothMaxPool>(at, x, windows, beta);
  }
  Ref MaxPool2d(Ref x, int64_t kernel, int64_t stride, int64_t padding = 0,
                Where at = Where::Current()) {
    return MaxPool(x, {{kernel, kernel}, {stride, stride}, {padding, padding}},
                   at);
  }
  Ref AvgPool2d(Ref x, int64_t kernel, int64_t stride, int64_t padding = 0,
                Where at = Where::Current()) {
    return AvgPool(x, {{kernel, kernel}, {stride, stride}, {padding, padding}},
                   at);
  }

  // x of in,... and w of out,in,kernel... and b of out; windows as above. The
  // transposed one has w of in,out,kernel... and (in - 1) stride + dilation
  // (kernel - 1) + 1 - padding - padding_after cells along an axis; PyTorch's
  // output_padding makes padding_after so much less. `windows.kernel`, `ceil`
  // and `count_padding` are not looked at.
  Ref Conv(Ref w, Ref b, Ref x, const Windows& windows = {},
           Where at = Where::Current()) {
    return CallAt<&fn::Conv>(at, w, b, x, windows);
  }
  Ref ConvTranspose(Ref w, Ref b, Ref x, const Windows& windows = {},
                    Where at = Where::Current()) {
    return CallAt<&fn::ConvTranspose>(at, w, b, x, windows);
  }
  Ref Conv2d(Ref w, Ref b, Ref x, int64_t stride, int64_t padding,
             Where at = Where::Current()) {
    return Conv(w, b, x, {{}, {stride, stride}, {padding, padding}}, at);
  }
  Ref ConvTranspose2d(Ref w, Ref b, Ref x, int64_t stride, int64_t padding,
                      Where at = Where::Current()) {
    return ConvTranspose(w, b, x, {{}, {stride, stride}, {padding, padding}},
                         at);
  }

  // The mean of (a - b)^2 over all cells.
  OCANNL_OF_2(MseLoss, MseLoss)
  // gamma (x - mean) / sqrt(variance + 1e-6) + beta, with the variance of n
  // cells divided by n: of the last axis, which gamma and beta have; of all
  // cells of each channel.
  OCANNL_OF_3(LayerNorm, LayerNorm)
  OCANNL_OF_3(BatchnormChannelFirst, BatchnormChannelFirst)
  // Self-attention of x, n,d: wq, wk and wv of d,heads*size and wo of
  // heads*size,d. Where the bools of `mask`, n,n, are false, the weight is 0.
  Ref MultiHeadAttention(Ref wq, Ref wk, Ref wv, Ref wo, Ref x, int64_t heads,
                         std::optional<Ref> mask = std::nullopt,
                         Where at = Where::Current()) {
    return CallAt<&fn::MultiHeadAttention>(at, wq, wk, wv, wo, x, heads, mask);
  }

  // Numbers in [0, 1); 1 where the cell of keep, a number, is greater than
  // such a number, else 0. Without gradients. They depend on the seed, on how
  // many random operations came before in the step, and on the number of the
  // step, in every mode alike.
  Ref RandUniform(const Dims& dims, Where at = Where::Current()) {
    return CallAt<&fn::RandUniform>(at, dims);
  }
  Ref BernoulliMask(Ref keep, const Dims& dims, Where at = Where::Current()) {
    return CallAt<&fn::BernoulliMask>(at, keep, dims);
  }
};

#undef OCANNL_OF_1
#undef OCANNL_OF_2
#undef OCANNL_OF_3

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_OPS_H_
