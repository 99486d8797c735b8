// SPDX-License-Identifier: Apache-2.0
//
// Whether two codes are the same: what is read back is what was printed,
// ParseCd(PrintCd(c)) == c.
#ifndef OCANNL_CORE_CD_EQUAL_H_
#define OCANNL_CORE_CD_EQUAL_H_

#include "ocannl/core/assign/ir.h"

namespace ocannl {

// Equal name, static indices, arrays, comments and assignments. The numbering
// of leaves and expressions, the numbers of inputs, and values outside of
// arrays that no index leaves do not count.
bool operator==(const Assignments& a, const Assignments& b);

}  // namespace ocannl

#endif  // OCANNL_CORE_CD_EQUAL_H_
