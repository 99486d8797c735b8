// SPDX-License-Identifier: Apache-2.0
//
// DataLimit: how many bytes a reader makes of a compressed file, which a file
// of a megabyte could make gigabytes of ("decompression bomb").
//
//   OCANNL_ASSIGN_OR_RETURN(NdArray rows, LoadArray("a.csv.gz"));
//   OCANNL_ASSIGN_OR_RETURN(NdArray all, LoadArray("a.csv.gz", {.mib = 4096}));
#ifndef OCANNL_TRAIN_DATA_DATA_LIMIT_H_
#define OCANNL_TRAIN_DATA_DATA_LIMIT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ocannl::train {

struct DataLimit {
  // MiB of what is decompressed: bytes of text, or of all arrays that are asked
  // for. 0: 64 times the size of the file, but at least 64 MiB, and at most
  // 4 GiB or the size of the file. (Deflate makes up to 1032 bytes of one.)
  int64_t mib = 0;

  // The limit for a file of so many bytes.
  int64_t BytesFor(int64_t file_bytes) const;
};

// The size of the file; 0 if there is none.
int64_t FileBytes(const std::string& path);

// Says that what is in the file exceeds the limit.
absl::Status ExceedsLimit(absl::string_view path, int64_t file_bytes,
                          const DataLimit& limit);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DATA_DATA_LIMIT_H_
