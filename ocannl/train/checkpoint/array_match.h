// SPDX-License-Identifier: Apache-2.0
//
// Whether the arrays of a file fit those that are asked for, and why not.
#ifndef OCANNL_TRAIN_CHECKPOINT_ARRAY_MATCH_H_
#define OCANNL_TRAIN_CHECKPOINT_ARRAY_MATCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/train/checkpoint/saved_arrays.h"
#include "ocannl/train/checkpoint/torch_layout.h"

namespace ocannl::train {

// In which order a file has the cells of an array.
enum class FileLayout : uint8_t {
  // Ours. A file that another library wrote is refused if an array of the same
  // dims would have another order in PyTorch.
  kUnnamed,
  kOcannl,
  kPyTorch,  // torch_layout.h
};

// An array that is asked for.
struct WantedArray {
  Array array;
  std::string in_file;  // its name there
  // That of the parameter; none: it is not known how the array is used.
  std::optional<TorchLayout> torch = std::nullopt;
};

// What became of an array, of ours or of the file.
struct ArrayMatch {
  enum class Kind : uint8_t { kFits, kMissing, kExtra, kMisfit };
  Kind kind;
  std::string name;     // of ours; empty: kExtra
  std::string in_file;  // its name in the file
  std::string text;     // how it fits, or why not
};

// "`net_w` is `fc.weight`: f16[2, 3], converted to f32".
std::string ToString(const ArrayMatch& match);

struct MatchOptions {
  bool convert = false;
  FileLayout layout = FileLayout::kUnnamed;
};

// What becomes of each of `wanted`, in order, and then of the other arrays of
// the file.
std::vector<ArrayMatch> MatchArrays(const FileList& file,
                                    absl::Span<const WantedArray> wanted,
                                    const MatchOptions& options);

// The error of the arrays that do not fit, all in one text; OK if all fit or
// are allowed to differ.
absl::Status MatchError(absl::string_view path,
                        absl::Span<const ArrayMatch> matches,
                        bool allow_missing, bool allow_extra);

// `value` of the file in the dtype, the size and the order of `wanted`, which
// it fits. A float is rounded to the nearest, of two to the even one. Error: a
// finite number is too large for the dtype.
absl::StatusOr<NdArray> ToWanted(absl::string_view path,
                                 const WantedArray& wanted,
                                 const MatchOptions& options, NdArray value);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_ARRAY_MATCH_H_
