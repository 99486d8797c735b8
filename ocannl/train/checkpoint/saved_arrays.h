// SPDX-License-Identifier: Apache-2.0
//
// Whether a file has the arrays that are asked for, those and no others.
#ifndef OCANNL_TRAIN_CHECKPOINT_SAVED_ARRAYS_H_
#define OCANNL_TRAIN_CHECKPOINT_SAVED_ARRAYS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl::train {

using NamedArray = std::pair<std::string, NdArray>;

// An error in the file at `path`.
absl::Status FileError(absl::string_view path, absl::string_view message);

// Where each of `wanted` stands among the names `found` in the file. Errors
// name what is there twice, what is missing and what nobody wants.
absl::StatusOr<std::vector<size_t>> FindAll(
    absl::string_view path, const std::vector<std::string>& found,
    absl::Span<const Array> wanted);

// Error: an array of `dtype` and `dims` is not what is wanted.
absl::Status CheckType(absl::string_view path, const Array& wanted, DType dtype,
                       const Dims& dims);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_SAVED_ARRAYS_H_
