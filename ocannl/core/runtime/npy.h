// SPDX-License-Identifier: Apache-2.0
//
// Arrays as .npy files, the format of numpy.save.
//
//   OCANNL_ASSIGN_OR_RETURN(NdArray w, ReadNpy("w.npy"));
//   OCANNL_RETURN_IF_ERROR(WriteNpy("w2.npy", w));
//
// No file can crash the reader, or make it take memory out of proportion to
// its size.
#ifndef OCANNL_CORE_RUNTIME_NPY_H_
#define OCANNL_CORE_RUNTIME_NPY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/npy_header.h"

namespace ocannl {

// What is in front of the numbers of a .npy file.
struct NpyFront {
  NpyHeader header;
  size_t bytes;
};

// No front is longer.
inline constexpr size_t kMostNpyFrontBytes = 65535 + 12;

// That of the .npy file whose first bytes, or all, are `bytes`. Errors as of
// ParseNpy.
absl::StatusOr<NpyFront> ParseNpyFront(absl::string_view bytes,
                                       absl::string_view name);

// The array of a .npy file with the contents `bytes`: version 1 or 2, C or
// Fortran order, little-endian numbers of any dtype of ours (npy_header.h).
// Errors name the file as `name`, what is wrong with it, and the fix.
absl::StatusOr<NdArray> ParseNpy(absl::string_view bytes,
                                 absl::string_view name);

// The contents of a .npy file, version 1 and C order. Error: too many axes.
absl::StatusOr<std::string> FormatNpy(const NdArray& array);

absl::StatusOr<NdArray> ReadNpy(const std::string& path);

// Errors leave a file that ReadNpy rejects, or none.
absl::Status WriteNpy(const std::string& path, const NdArray& array);

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_NPY_H_
