// SPDX-License-Identifier: Apache-2.0
//
// What a file has of arrays, and whether it is what is asked for.
#ifndef OCANNL_TRAIN_CHECKPOINT_SAVED_ARRAYS_H_
#define OCANNL_TRAIN_CHECKPOINT_SAVED_ARRAYS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/train/data/data_limit.h"

namespace ocannl::train {

using NamedArray = std::pair<std::string, NdArray>;

// What a file says of one of its arrays.
struct ArrayEntry {
  std::string name;
  std::optional<DType> dtype;  // none: one that we do not have
  Dims dims;                   // of a .npz file, none without a dtype

  friend bool operator==(const ArrayEntry&, const ArrayEntry&) = default;
};

// What a file has, in its order.
struct FileList {
  std::vector<ArrayEntry> entries;
  bool is_ours = false;  // SaveParams wrote it
};

// "w: f32[2, 3]", "note: dtype unknown".
std::string ToString(const ArrayEntry& entry);

// An error in the file at `path`.
absl::Status FileError(absl::string_view path, absl::string_view message);

// What follows the error of an array that is missing, by the names that the
// file has: "; it has a, b, ...; give RestoreOptions::names where ...".
std::string NamesHint(absl::Span<const std::string> found);

// Where each of `wanted` stands among the names `found` in the file. Errors
// name what is there twice, what is missing and, unless the file may have
// `extra` arrays, what nobody wants.
absl::StatusOr<std::vector<size_t>> FindAll(
    absl::string_view path, const std::vector<std::string>& found,
    absl::Span<const Array> wanted, bool extra);

// Error: an array of `dtype` and `dims` is not what is wanted.
absl::Status CheckType(absl::string_view path, const Array& wanted, DType dtype,
                       const Dims& dims);

// Error: `arrays`, whose sizes the file says, exceed the limit for it. To be
// asked before there is memory for them.
absl::Status CheckLimit(const std::string& path, absl::Span<const Array> arrays,
                        const DataLimit& limit);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_SAVED_ARRAYS_H_
