// SPDX-License-Identifier: Apache-2.0
//
// FirstDifference: where two tiers' results differ, for people.
#ifndef OCANNL_CORE_TIERING_FIRST_DIFFERENCE_H_
#define OCANNL_CORE_TIERING_FIRST_DIFFERENCE_H_

#include <string>

#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Where two arrays of a buffer differ first, with both values; empty where they
// do not. NaNs are equal.
std::string FirstDifference(const Buffer& buffer, const NdArray& expected,
                            const NdArray& actual);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_FIRST_DIFFERENCE_H_
