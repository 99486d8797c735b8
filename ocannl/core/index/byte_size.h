// SPDX-License-Identifier: Apache-2.0
//
// The bytes of an array whose dims may be too large for 64 bits.
//
//   ByteSize(DType::kF32, {2, 3})   ->   24
#ifndef OCANNL_CORE_INDEX_BYTE_SIZE_H_
#define OCANNL_CORE_INDEX_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"

namespace ocannl {

// Error: a negative dim, or more bytes than 2^62, also when another dim is 0.
absl::StatusOr<int64_t> ByteSize(DType dtype, absl::Span<const int64_t> dims);

// "f32[2, 3]", for messages.
std::string DescribeArray(DType dtype, absl::Span<const int64_t> dims);

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_BYTE_SIZE_H_
