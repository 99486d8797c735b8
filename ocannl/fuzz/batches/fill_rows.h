// SPDX-License-Identifier: Apache-2.0
//
// FillRows: what an operand of a BatchCase holds. A cell depends on the seed,
// the operand's name, the number of its row and its place in the row, not on
// the batch.
#ifndef OCANNL_FUZZ_BATCHES_FILL_ROWS_H_
#define OCANNL_FUZZ_BATCHES_FILL_ROWS_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/fuzz/batches/batch_case.h"

namespace ocannl::fuzz {

// Fills `array`, of f32, whose axis of rows is `row_axis`, for that batch of
// the case. What is no operand is a parameter, without rows.
void FillRows(const BatchCase& one, absl::string_view name, const Batch& batch,
              std::optional<size_t> row_axis, NdArray& array);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_BATCHES_FILL_ROWS_H_
