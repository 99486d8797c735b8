// SPDX-License-Identifier: Apache-2.0
//
// A small training on shards: a model whose squared errors get smaller.
//
//   FitSquares(&backend, {.n_shards = 4}, "{w = 0.01; o=[5]} * x", 16, 5, 0.1)
#ifndef TESTS_SUPPORT_FIT_SQUARES_H_
#define TESTS_SUPPORT_FIT_SQUARES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/train/parallel/data_parallel.h"

namespace ocannl {

// Of `model`, an expression in x, on `rows` examples of `columns` numbers in
// and as many out, by SGD of that rate. Errors: those of DataParallel::Make.
absl::StatusOr<train::DataParallel> FitSquares(
    const Backend* backend, const train::DataParallelOptions& options,
    absl::string_view model, int64_t rows, int64_t columns, double rate);

}  // namespace ocannl

#endif  // TESTS_SUPPORT_FIT_SQUARES_H_
