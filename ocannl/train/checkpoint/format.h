// SPDX-License-Identifier: Apache-2.0
//
// The formats of checkpoints, by the ends of their names.
#ifndef OCANNL_TRAIN_CHECKPOINT_FORMAT_H_
#define OCANNL_TRAIN_CHECKPOINT_FORMAT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/train/checkpoint/saved_arrays.h"

namespace ocannl::train {

// npz.h and safetensors.h say what its functions do.
struct Format {
  absl::string_view extension;
  absl::Status (*write)(const std::string& path,
                        std::vector<NamedArray> arrays);
  absl::StatusOr<std::vector<NdArray>> (*read)(const std::string& path,
                                               absl::Span<const Array> wanted,
                                               bool extra);
  absl::StatusOr<FileList> (*list)(const std::string& path);
};

// Error: the name's end is no format.
absl::StatusOr<Format> FormatOf(const std::string& path);

// That of a file that can be read. Errors: the same; there is no ordinary file.
absl::StatusOr<Format> Readable(const std::string& path);

// Error: no arrays; two of one name; a name that is not of printable ASCII.
absl::Status CheckNames(const std::string& path,
                        absl::Span<const Array> arrays);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_FORMAT_H_
