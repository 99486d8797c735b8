// SPDX-License-Identifier: Apache-2.0
//
// The functions of ops.h of which a repeated step consists, for the compiler to
// inline: they are a comparison then.
#ifndef OCANNL_TRAIN_TRAINER_OPS_INLINE_H_
#define OCANNL_TRAIN_TRAINER_OPS_INLINE_H_

#include <cstdint>

#include "ocannl/train/trainer/ops.h"

namespace ocannl::train {

#define OCANNL_MAP_1(name)                      \
  inline Ref Ops::name(Ref x, Where at) {       \
    return Call(Primitive::k##name, {}, at, x); \
  }
#define OCANNL_MAP_2(name)                         \
  inline Ref Ops::name(Ref a, Ref b, Where at) {   \
    return Call(Primitive::k##name, {}, at, a, b); \
  }
OCANNL_MAP_2(Add)
OCANNL_MAP_2(Sub)
OCANNL_MAP_2(Mul)
OCANNL_MAP_2(Max)
OCANNL_MAP_2(Min)
OCANNL_MAP_2(Matmul)
OCANNL_MAP_2(Bmm)
OCANNL_MAP_2(MseLoss)
OCANNL_MAP_1(Abs)
OCANNL_MAP_1(Sqrt)
OCANNL_MAP_1(Inv)
OCANNL_MAP_1(Relu)
OCANNL_MAP_1(Sigmoid)
OCANNL_MAP_1(Tanh)
OCANNL_MAP_1(Softplus)
OCANNL_MAP_1(Exp)
OCANNL_MAP_1(Log)
OCANNL_MAP_1(Detach)
OCANNL_MAP_1(Softmax)
OCANNL_MAP_1(LogSoftmax)
OCANNL_MAP_1(Sum)
#undef OCANNL_MAP_1
#undef OCANNL_MAP_2

inline Ref Ops::Scale(Ref x, double factor, Where at) {
  return Call(Primitive::kScale, {factor}, at, x);
}

inline Ref Ops::Shift(Ref x, double summand, Where at) {
  return Call(Primitive::kShift, {summand}, at, x);
}

inline Ref Ops::Clamp(Ref x, double low, double high, Where at) {
  return Call(Primitive::kClamp, {low, high}, at, x);
}

inline Ref Ops::SafeLog(Ref x, double epsilon, Where at) {
  return Call(Primitive::kSafeLog, {epsilon}, at, x);
}

inline Ref Ops::ReduceSum(Ref x, int axis, Where at) {
  return Call(Primitive::kReduceSum, {double(axis)}, at, x);
}

inline Ref Ops::ReduceMean(Ref x, int axis, Where at) {
  return Call(Primitive::kReduceMean, {double(axis)}, at, x);
}

inline Ref Ops::GatherScalar(Ref vector, int64_t index, Where at) {
  return Call(Primitive::kSlice, {double(index)}, at, vector);
}

inline Ref Ops::GatherRow(Ref matrix, int64_t index, Where at) {
  return Call(Primitive::kSlice, {double(index)}, at, matrix);
}

inline Ref Ops::GatherScalarNat(Ref vector, Ref index, Where at) {
  return Call(Primitive::kGather, {}, at, vector, index);
}

inline Ref Ops::GatherVecNat(Ref vector, Ref indices, Where at) {
  return Call(Primitive::kGather, {}, at, vector, indices);
}

inline Ref Ops::GatherRowsNat(Ref matrix, Ref indices, Where at) {
  return Call(Primitive::kGather, {}, at, matrix, indices);
}

inline Ref Ops::ScatterAddVec(Ref x, Ref index, Ref value, Where at) {
  return Call(Primitive::kScatterAdd, {}, at, x, index, value);
}

inline Ref Ops::ScatterAddRow(Ref x, Ref index, Ref row, Where at) {
  return Call(Primitive::kScatterAdd, {}, at, x, index, row);
}

inline Ref Ops::TokenIdsFromFloatVec(Ref x, Where at) {
  return Call(Primitive::kTokenIds, {}, at, x);
}

inline Ref Ops::SelectLeading(Ref x, Ref index, Where at) {
  return Call(Primitive::kSelect, {}, at, x, index);
}

inline Ref Ops::SliceLeadingAxisRange(Ref x, int64_t start, int64_t size,
                                      Where at) {
  return Call(Primitive::kSlice, {double(start), double(size)}, at, x);
}

inline Ref Ops::ConcatVectors(Ref a, Ref b, Where at) {
  return Call(Primitive::kConcat, {}, at, a, b);
}

inline Ref Ops::Linear(Ref w, Ref b, Ref x, Where at) {
  return Call(Primitive::kLinear, {}, at, w, b, x);
}

inline Ref Ops::LayerNorm(Ref x, Ref gamma, Ref beta, Where at) {
  return Call(Primitive::kLayerNorm, {}, at, x, gamma, beta);
}

inline Ref Ops::BatchnormChannelFirst(Ref x, Ref gamma, Ref beta, Where at) {
  return Call(Primitive::kBatchnormChannelFirst, {}, at, x, gamma, beta);
}

inline Ref Ops::Transpose2d(Ref x, Where at) {
  return Call(Primitive::kPermute, {1, 0}, at, x);
}

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TRAINER_OPS_INLINE_H_
