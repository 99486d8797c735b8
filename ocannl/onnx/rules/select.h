// SPDX-License-Identifier: Apache-2.0
//
// Values at indices, and where values are: core/tensor/indexing.h for values.
#ifndef OCANNL_ONNX_RULES_SELECT_H_
#define OCANNL_ONNX_RULES_SELECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ocannl/core/base/dtype.h"
#include "ocannl/onnx/rules/value.h"

namespace ocannl::onnx {

// The cells of `table` at the ids, along the axis that only the table has. Ids
// count from the start.
Value Gather(const Term& table, const Term& ids, const Axes& result);
// The sums of the values with the same id: they come to that cell of the axis
// `at`, of `size` cells, that only the result has.
Value ScatterAdd(const Term& values, const Term& ids, const Axes& result,
                 const std::string& at, int64_t size);

// The cells of an axis at the ids, whose axes come to its place.
Value GatherAxis(const Value& a, int axis, const Value& ids);
// The given cells of an axis, in that order.
Value Take(const Value& a, int axis, const Numbers& cells);
// Cells start, start + step, ... of an axis, `count` of them. Misfit: their ids
// are more than kMostConstantBytes.
Value TakeEvery(const Value& a, int axis, int64_t start, int64_t step,
                int64_t count);
// `a` backwards along an axis.
Value Reversed(const Value& a, int axis);

// With an axis more, at `axis`, of `depth` cells: 1 in the one that the id
// means, else 0.
Value OneHot(const Value& ids, int axis, int64_t depth, DType dtype);
// The position, an i64, of the greatest or least cell along an axis, which
// keeps one cell: of several, the first or the last.
Value ArgExtreme(const Value& a, int axis, bool greatest, bool last);
// The sums of the cells up to each one along an axis.
Value CumulativeSum(const Value& a, int axis);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_RULES_SELECT_H_
