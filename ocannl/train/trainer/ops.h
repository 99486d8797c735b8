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
// What the functions compute, and their names, follow the trainer of TorchLean
// (github.com/lean-dojo/TorchLean). Images have channels first and no batch.
#ifndef OCANNL_TRAIN_TRAINER_OPS_H_
#define OCANNL_TRAIN_TRAINER_OPS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/train/trainer/op_call.h"

namespace ocannl::train {

// Not thread-safe.
class Ops {
 public:
  using Where = SourceLocation;

  Ops(const Ops&) = delete;
  virtual ~Ops() = default;

  // The first error of this step.
  const absl::Status& status() const { return status_; }

  // {} of what is in error.
  virtual Dims dims(Ref x) const = 0;
  virtual DType dtype(Ref x) const = 0;

  // The value now. Errors: of the step; of a loss that is being compiled, when
  // nothing has a value.
  virtual absl::StatusOr<NdArray> Value(Ref x) = 0;

  // Data of the step. Other values in the next step are those of that step.
  Ref Const(std::shared_ptr<const NdArray> value, Where at = Where::Current()) {
    return AddConst(std::move(value), at);
  }
  Ref Const(double number, Where at = Where::Current());  // f32, shape {}

  // Of each cell of operands of one shape.
  Ref Add(Ref a, Ref b, Where at = Where::Current());
  Ref Sub(Ref a, Ref b, Where at = Where::Current());
  Ref Mul(Ref a, Ref b, Where at = Where::Current());
  Ref Max(Ref a, Ref b, Where at = Where::Current());
  Ref Min(Ref a, Ref b, Where at = Where::Current());
  Ref Scale(Ref x, double factor, Where at = Where::Current());
  Ref Shift(Ref x, double summand, Where at = Where::Current());
  Ref Clamp(Ref x, double low, double high, Where at = Where::Current());
  Ref Abs(Ref x, Where at = Where::Current());
  Ref Sqrt(Ref x, Where at = Where::Current());
  Ref Inv(Ref x, Where at = Where::Current());  // 1 / x
  Ref Relu(Ref x, Where at = Where::Current());
  Ref Sigmoid(Ref x, Where at = Where::Current());
  Ref Tanh(Ref x, Where at = Where::Current());
  Ref Softplus(Ref x, Where at = Where::Current());  // log(1 + exp(x))
  Ref Exp(Ref x, Where at = Where::Current());
  Ref Log(Ref x, Where at = Where::Current());
  // log(softplus(x) + epsilon).
  Ref SafeLog(Ref x, double epsilon = 1e-6, Where at = Where::Current());
  // The same value, through which no gradient flows.
  Ref Detach(Ref x, Where at = Where::Current());
  // Along the last axis; of a number 1 and 0.
  Ref Softmax(Ref x, Where at = Where::Current());
  Ref LogSoftmax(Ref x, Where at = Where::Current());

  // In another shape. BroadcastTo repeats x along axes of 1 and in front, as
  // NumPy does; Permute makes axis k of what was axis order[k].
  Ref BroadcastTo(Ref x, const Dims& dims, Where at = Where::Current());
  Ref Reshape(Ref x, const Dims& dims, Where at = Where::Current());
  Ref Flatten(Ref x, Where at = Where::Current());
  Ref Permute(Ref x, const Dims& order, Where at = Where::Current());
  Ref Transpose2d(Ref x, Where at = Where::Current());
  Ref Transpose3dFirstToLast(Ref x, Where at = Where::Current());  // b, c, a
  Ref Transpose3dLastToFirst(Ref x, Where at = Where::Current());  // c, a, b
  Ref Transpose3dLastTwo(Ref x, Where at = Where::Current());      // a, c, b
  // Exchanges axes depth and depth + 1.
  Ref SwapAdjacentAtDepth(Ref x, int depth, Where at = Where::Current());

  // Sums and means; the axis is dropped.
  Ref Sum(Ref x, Where at = Where::Current());  // of all cells
  Ref ReduceSum(Ref x, int axis, Where at = Where::Current());
  Ref ReduceMean(Ref x, int axis, Where at = Where::Current());

  // What is at an index of the first axis: of one that is known, as part of
  // the code, which must be in range; or of integers, one or a list of them,
  // where what is out of range is 0, and the gradients of one that comes twice
  // add up.
  Ref GatherScalar(Ref vector, int64_t index, Where at = Where::Current());
  Ref GatherRow(Ref matrix, int64_t index, Where at = Where::Current());
  Ref GatherScalarNat(Ref vector, Ref index, Where at = Where::Current());
  Ref GatherVecNat(Ref vector, Ref indices, Where at = Where::Current());
  Ref GatherRowsNat(Ref matrix, Ref indices, Where at = Where::Current());
  // x with `value` added to the cell, or the row, at an index; out of range, x.
  Ref ScatterAddVec(Ref x, Ref index, Ref value, Where at = Where::Current());
  Ref ScatterAddRow(Ref x, Ref index, Ref row, Where at = Where::Current());
  // Floats that hold whole numbers, as indices. Without a gradient.
  Ref TokenIdsFromFloatVec(Ref x, Where at = Where::Current());
  // What is at the value of an Index (TrainerInput) of the first axis, whose
  // size is the index's range.
  Ref SelectLeading(Ref x, Ref index, Where at = Where::Current());

  // Parts of the first axis, and tensors one after the other along it.
  Ref SliceLeadingAxisRange(Ref x, int64_t start, int64_t size,
                            Where at = Where::Current());
  Ref ConcatLeadingAxis(absl::Span<const Ref> parts,
                        Where at = Where::Current());
  Ref ConcatVectors(Ref a, Ref b, Where at = Where::Current());

  // Products: m,n times n,p; of each of a batch; w x + b with w of out,in
  // and x of in, or of more axes in front.
  Ref Matmul(Ref a, Ref b, Where at = Where::Current());
  Ref Bmm(Ref a, Ref b, Where at = Where::Current());
  Ref Linear(Ref w, Ref b, Ref x, Where at = Where::Current());

  // Over the windows of each channel: along an axis floor((in + padding +
  // padding_after - dilation (kernel - 1) - 1) / stride) + 1 of them. The
  // padding is never the greatest, and smaller than a window; it counts as 0 in
  // the other two, unless AvgPool does not count it, nor cells beyond it.
  // SmoothMaxPool is log(sum of exp(beta x)) / beta.
  Ref MaxPool(Ref x, const Windows& windows, Where at = Where::Current());
  Ref AvgPool(Ref x, const Windows& windows, Where at = Where::Current());
  Ref SmoothMaxPool(Ref x, const Windows& windows, double beta,
                    Where at = Where::Current());
  Ref MaxPool2d(Ref x, int64_t kernel, int64_t stride, int64_t padding = 0,
                Where at = Where::Current());
  Ref AvgPool2d(Ref x, int64_t kernel, int64_t stride, int64_t padding = 0,
                Where at = Where::Current());

  // x of in,... and w of out,in,kernel... and b of out; windows as above. The
  // transposed one has w of in,out,kernel... and (in - 1) stride + dilation
  // (kernel - 1) + 1 - padding - padding_after cells along an axis; PyTorch's
  // output_padding makes padding_after so much less. `windows.kernel`, `ceil`
  // and `count_padding` are not looked at.
  Ref Conv(Ref w, Ref b, Ref x, const Windows& windows = {},
           Where at = Where::Current());
  Ref ConvTranspose(Ref w, Ref b, Ref x, const Windows& windows = {},
                    Where at = Where::Current());
  Ref Conv2d(Ref w, Ref b, Ref x, int64_t stride, int64_t padding,
             Where at = Where::Current());
  Ref ConvTranspose2d(Ref w, Ref b, Ref x, int64_t stride, int64_t padding,
                      Where at = Where::Current());

  // The mean of (a - b)^2 over all cells.
  Ref MseLoss(Ref a, Ref b, Where at = Where::Current());
  // gamma (x - mean) / sqrt(variance + 1e-6) + beta, with the variance of n
  // cells divided by n: of the last axis, which gamma and beta have; of all
  // cells of each channel.
  Ref LayerNorm(Ref x, Ref gamma, Ref beta, Where at = Where::Current());
  Ref BatchnormChannelFirst(Ref x, Ref gamma, Ref beta,
                            Where at = Where::Current());
  // Self-attention of x, n,d: wq, wk and wv of d,heads*size and wo of
  // heads*size,d. Where the bools of `mask`, n,n, are false, the weight is 0.
  Ref MultiHeadAttention(Ref wq, Ref wk, Ref wv, Ref wo, Ref x, int64_t heads,
                         std::optional<Ref> mask = std::nullopt,
                         Where at = Where::Current());

  // Numbers in [0, 1); 1 where the cell of keep, a number, is greater than
  // such a number, else 0. Without gradients. They depend on the seed, on how
  // many random operations came before in the step, and on the number of the
  // step, in every mode alike.
  Ref RandUniform(const Dims& dims, Where at = Where::Current());
  Ref BernoulliMask(Ref keep, const Dims& dims, Where at = Where::Current());

 protected:
  Ops() = default;

  // A call that is not the next one of `calls_`.
  virtual Ref Record(OpCall call) = 0;
  virtual Ref AddConst(std::shared_ptr<const NdArray> value, Where at) = 0;

  // The operation, if it comes where it came in the recorded step: what all
  // steps but the first do, in a few nanoseconds.
  template <class... Refs>
  Ref Call(Primitive op, absl::Span<const double> numbers, Where at,
           Refs... operands) {
    static_assert(sizeof...(operands) <= 3);
    auto signature = static_cast<uint64_t>(op);
    uint64_t slots = 0;
    int shift = 8;
    ((slots |= operands.SlotIn(epoch_),
      signature |= operands.SlotIn(epoch_) << shift, shift += kSlotBits),
     ...);
    if (next_ < signatures_.size() && signatures_[next_] == signature &&
        slots >> kSlotBits == 0 &&
        SameNumbers(numbers, calls_[next_].numbers)) {
      return {next_++, epoch_};
    }
    return CallUnexpected(op, {operands...}, numbers, at);
  }

  // The same of any number of operands, and where it is another one.
  Ref CallUnexpected(Primitive op, absl::Span<const Ref> operands,
                     absl::Span<const double> numbers, Where at);

  Ref Fail(absl::Status status);

  absl::Span<const OpCall> calls_;         // expected in this step
  absl::Span<const uint64_t> signatures_;  // of those
  uint32_t next_ = 0;  // of them, or of those that were recorded
  uint64_t epoch_ = 0;
  absl::Status status_;

 private:
  Ref OnWindows(Primitive op, absl::Span<const Ref> operands,
                const Windows& windows, absl::Span<const double> numbers,
                Where at);
};

}  // namespace ocannl::train

#include "ocannl/train/trainer/ops_inline.h"  // IWYU pragma: export

#endif  // OCANNL_TRAIN_TRAINER_OPS_H_
