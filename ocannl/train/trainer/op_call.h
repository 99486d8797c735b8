// SPDX-License-Identifier: Apache-2.0
//
// An operation of ops.h as it is recorded.
#ifndef OCANNL_TRAIN_TRAINER_OP_CALL_H_
#define OCANNL_TRAIN_TRAINER_OP_CALL_H_

#include <cstdint>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"

namespace ocannl::train {

// A step has at most 2^18 operations.
inline constexpr int kSlotBits = 18;

// A tensor of one step of one session. Another step's is an error: no two steps
// of a process have the same epoch, which 2^46 steps, half a year, use up.
class Ref {
 public:
  Ref() = default;  // of no step
  Ref(uint64_t slot, uint64_t epoch) : bits_(epoch << kSlotBits | slot) {}

  uint32_t slot() const {  // which operation
    return static_cast<uint32_t>(bits_ & ((1 << kSlotBits) - 1));
  }
  uint64_t epoch() const { return bits_ >> kSlotBits; }

  // The slot if this is of the step `epoch`, else more than any slot.
  uint64_t SlotIn(uint64_t epoch) const { return bits_ ^ (epoch << kSlotBits); }

  friend bool operator==(Ref, Ref) = default;

 private:
  uint64_t bits_ = 0;
};

// clang-format off
#define OCANNL_TRAINER_PRIMITIVES(X) \
  X(Param) X(Input) X(Index) X(Const) X(Add) X(Sub) X(Mul) X(Scale) \
  X(Shift) X(Abs) X(Sqrt) X(Clamp) X(Max) X(Min) X(Inv) X(BroadcastTo) \
  X(Reshape) X(Permute) X(Sum) X(ReduceSum) X(ReduceMean) X(Gather) \
  X(ScatterAdd) X(TokenIds) X(Select) X(Slice) X(Concat) X(Matmul) X(Bmm) \
  X(Linear) X(MaxPool) X(AvgPool) X(SmoothMaxPool) X(Relu) X(Sigmoid) \
  X(Tanh) X(Softmax) X(LogSoftmax) X(Softplus) X(Exp) X(Log) X(SafeLog) \
  X(Detach) X(MseLoss) X(LayerNorm) X(BatchnormChannelFirst) \
  X(MultiHeadAttention) X(Conv) X(ConvTranspose) X(RandUniform) \
  X(BernoulliMask)
// clang-format on

enum class Primitive : uint8_t {
#define OCANNL_ENUMERATE(name) k##name,
  OCANNL_TRAINER_PRIMITIVES(OCANNL_ENUMERATE)
#undef OCANNL_ENUMERATE
};
absl::string_view Name(Primitive op);  // "Matmul"

// One operation as it was recorded. Equal ones make equal code.
struct OpCall {
  Primitive op;
  absl::InlinedVector<uint32_t, 3> operands;  // slots
  absl::InlinedVector<double, 4> numbers;     // as the primitive has them
  SourceLocation where;                       // for errors only
};

// Whether the numbers have the same bits: -0 is not 0, and a NaN is itself.
inline bool SameNumbers(absl::Span<const double> a,
                        absl::Span<const double> b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// The operation and its operands as a word, different for different ones; all
// ones for more than 3 operands.
uint64_t SignatureOf(const OpCall& call);

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

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TRAINER_OP_CALL_H_
