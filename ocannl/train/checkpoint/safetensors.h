// SPDX-License-Identifier: Apache-2.0
//
// Arrays as .safetensors files: the length of a header as a u64, the header,
// which is JSON, and the numbers of all arrays without gaps. All is
// little-endian. See https://github.com/huggingface/safetensors.
//
//   {"__metadata__": {"xxh3_64 w": "9a1f..."},
//    "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// Such metadata are ours: hashes of the numbers, which the format has not.
#ifndef OCANNL_TRAIN_CHECKPOINT_SAFETENSORS_H_
#define OCANNL_TRAIN_CHECKPOINT_SAFETENSORS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/train/checkpoint/saved_arrays.h"

namespace ocannl::train {

// Writes the file. The names must be of ASCII. Errors, which name the file:
// more than 512 KiB of names and shapes; an array called __metadata__.
absl::Status WriteSafetensors(const std::string& path,
                              std::vector<NamedArray> arrays);

// The arrays of the file, in the order of `wanted`; with `extra`, it may have
// others too. Errors: those of FindAll and CheckType; what is damaged, which
// the hashes tell where there are some; a header of more than 512 KiB.
absl::StatusOr<std::vector<NdArray>> ReadSafetensors(
    const std::string& path, absl::Span<const Array> wanted, bool extra);

// What the file has. It is ours if it has hashes. Errors: two of one name; what
// is damaged.
absl::StatusOr<FileList> ListSafetensors(const std::string& path);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_SAFETENSORS_H_
