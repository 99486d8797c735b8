// SPDX-License-Identifier: Apache-2.0
//
// Arrays as .npz files, the format of numpy.savez: a zip archive with a member
// NAME.npy for each array. Floats that NumPy lacks are as in npy_header.h.
#ifndef OCANNL_TRAIN_CHECKPOINT_NPZ_H_
#define OCANNL_TRAIN_CHECKPOINT_NPZ_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/train/checkpoint/saved_arrays.h"

namespace ocannl::train {

// Writes the file, not compressed; the same arrays make the same bytes. There
// must be arrays, with names of ASCII. Errors name the file.
absl::Status WriteNpz(const std::string& path, std::vector<NamedArray> arrays);

// The arrays of the file, which numpy.savez_compressed may have written, in the
// order of `wanted`; with `extra`, it may have others too. Errors: those of
// FindAll and CheckType; what is damaged, which the archive's CRC tells.
absl::StatusOr<std::vector<NdArray>> ReadNpz(const std::string& path,
                                             absl::Span<const Array> wanted,
                                             bool extra);

// Reads all of the file and checks its CRCs, in constant memory. DataLoss: it
// is damaged, has no arrays or is no ordinary file. Other errors: the system's.
absl::Status CheckNpz(const std::string& path);

// What the file has. It is ours if the archive's comment says so. Errors: two
// of one name; what is damaged.
absl::StatusOr<FileList> ListNpz(const std::string& path);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_NPZ_H_
