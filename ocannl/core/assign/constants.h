// SPDX-License-Identifier: Apache-2.0
//
// Which arrays are effectively constant: their values are the same in each run.
#ifndef OCANNL_CORE_ASSIGN_CONSTANTS_H_
#define OCANNL_CORE_ASSIGN_CONSTANTS_H_

#include "absl/status/status.h"
#include "ocannl/core/assign/assignments.h"

namespace ocannl {

// Error: an array that is to be effectively constant is computed from a static
// index or from an array that may change.
absl::Status CheckConstants(const Assignments& code);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_CONSTANTS_H_
