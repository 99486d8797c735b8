// SPDX-License-Identifier: Apache-2.0
//
// What every assignment must satisfy before it is lowered.
#ifndef OCANNL_CORE_CD_VERIFY_H_
#define OCANNL_CORE_CD_VERIFY_H_

#include "absl/status/status.h"
#include "ocannl/core/assign/assignments.h"

namespace ocannl {

// InvalidArgument if `assign` of `code`
//   - writes what is an input or in the merge buffer;
//   - has an index outside of its array, but for one without a static index
//     that is read without a lookup, or accumulated into without one;
//   - looks up by what are no integers;
//   - accumulates in a type that has no such operation.
// Its leaves and its numbers of arrays must be right.
absl::Status VerifyAssign(const Assignments& code, const Assign& assign);

}  // namespace ocannl

#endif  // OCANNL_CORE_CD_VERIFY_H_
