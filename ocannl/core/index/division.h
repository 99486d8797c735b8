// SPDX-License-Identifier: Apache-2.0
//
// Floor and ceiling division of integers.
#ifndef OCANNL_CORE_INDEX_DIVISION_H_
#define OCANNL_CORE_INDEX_DIVISION_H_

#include <cstdint>

namespace ocannl {

// a / b, rounded down; b is not 0.
inline int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// a / b, rounded up; both are positive.
inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_DIVISION_H_
