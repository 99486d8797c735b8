// SPDX-License-Identifier: Apache-2.0
//
// Names of TorchLean's trainer for operations that have other names in Ops
// (ocannl/train/eager/ops.h), or several names for one of them: GatherRow(ops,
// x, 2) is ops.Cell(x, 2).
#ifndef OCANNL_TRAIN_COMPAT_TORCH_LEAN_NAMES_H_
#define OCANNL_TRAIN_COMPAT_TORCH_LEAN_NAMES_H_

#include <cstdint>

#include "ocannl/core/base/source_location.h"
#include "ocannl/train/eager/ops.h"

namespace ocannl::train {

inline Ref GatherScalar(Ops& ops, Ref vector, int64_t index,
                        SourceLocation at = SourceLocation::Current()) {
  return ops.Cell(vector, index, at);
}
inline Ref GatherRow(Ops& ops, Ref matrix, int64_t index,
                     SourceLocation at = SourceLocation::Current()) {
  return ops.Cell(matrix, index, at);
}
inline Ref GatherScalarNat(Ops& ops, Ref x, Ref index,
                           SourceLocation at = SourceLocation::Current()) {
  return ops.Gather(x, index, at);
}
inline Ref GatherVecNat(Ops& ops, Ref x, Ref indices,
                        SourceLocation at = SourceLocation::Current()) {
  return ops.Gather(x, indices, at);
}
inline Ref GatherRowsNat(Ops& ops, Ref x, Ref indices,
                         SourceLocation at = SourceLocation::Current()) {
  return ops.Gather(x, indices, at);
}
inline Ref ScatterAddVec(Ops& ops, Ref x, Ref index, Ref value,
                         SourceLocation at = SourceLocation::Current()) {
  return ops.ScatterAdd(x, index, value, at);
}
inline Ref ScatterAddRow(Ops& ops, Ref x, Ref index, Ref row,
                         SourceLocation at = SourceLocation::Current()) {
  return ops.ScatterAdd(x, index, row, at);
}
inline Ref TokenIdsFromFloatVec(Ops& ops, Ref x,
                                SourceLocation at = SourceLocation::Current()) {
  return ops.TokenIds(x, at);
}
inline Ref ConcatVectors(Ops& ops, Ref a, Ref b,
                         SourceLocation at = SourceLocation::Current()) {
  return ops.ConcatLeadingAxis({a, b}, at);
}
inline Ref Transpose3dFirstToLast(
    Ops& ops, Ref x, SourceLocation at = SourceLocation::Current()) {
  return ops.Permute(x, {1, 2, 0}, at);
}
inline Ref Transpose3dLastToFirst(
    Ops& ops, Ref x, SourceLocation at = SourceLocation::Current()) {
  return ops.Permute(x, {2, 0, 1}, at);
}
inline Ref Transpose3dLastTwo(Ops& ops, Ref x,
                              SourceLocation at = SourceLocation::Current()) {
  return ops.Permute(x, {0, 2, 1}, at);
}

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_COMPAT_TORCH_LEAN_NAMES_H_
