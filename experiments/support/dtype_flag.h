// SPDX-License-Identifier: Apache-2.0
//
// What the network of an experiment computes in: --dtype.
#ifndef EXPERIMENTS_SUPPORT_DTYPE_FLAG_H_
#define EXPERIMENTS_SUPPORT_DTYPE_FLAG_H_

#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/dtype.h"

namespace ocannl {

Flag DTypeFlag();

// Error: it is no float of 32 bits or fewer.
absl::StatusOr<DType> DTypeOf(const CommandLine& line);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_DTYPE_FLAG_H_
