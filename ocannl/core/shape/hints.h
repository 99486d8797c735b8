// SPDX-License-Identifier: Apache-2.0
//
// What the messages of shape errors propose.
#ifndef OCANNL_CORE_SHAPE_HINTS_H_
#define OCANNL_CORE_SHAPE_HINTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

// The first two known sizes, of axes paired from the right, that differ.
std::optional<std::pair<int64_t, int64_t>> Difference(const Dims& a,
                                                      const Dims& b);

// The spec that makes those sizes of 1 broadcast in which the row `kind` of a
// tensor differs from `other`, paired from the right: "0,i => 0,i" of 1,3 and
// 4,3. `row` gives the sizes of its rows, or nothing; that of `kind` is known.
std::string BroadcastSpec(absl::FunctionRef<std::optional<Dims>(RowKind)> row,
                          RowKind kind, const Dims& other);

// `spec` with position 0 in the place of axis number `axis` of `row`, a row of
// one of its operands. Empty if it is a row of the result, or the axis no name
// in front of the row's variable.
std::string OneCellSpec(const EinsumSpec& spec, const EinsumRow& row, int axis);

// ": 4 does not divide 6"; empty if it does.
std::string NoDivisor(int64_t divisor, int64_t size);

// Why cells of `dims` do not fill `shape`, where one size may be open, which is
// 0: ": 3 does not divide 8", ": there are 8, and it has 9". Empty if not all
// of `dims` are known.
std::string DoNotFill(const Dims& dims, const Dims& shape);

// The product of the sizes, if all are known and it is small enough to count.
std::optional<int64_t> KnownCells(const Dims& dims);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_HINTS_H_
