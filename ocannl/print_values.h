// SPDX-License-Identifier: Apache-2.0
//
// What an array holds, as text for people.
#ifndef OCANNL_PRINT_VALUES_H_
#define OCANNL_PRINT_VALUES_H_

#include <string>

#include "ocannl/core/base/ndarray.h"

namespace ocannl {

// All values in memory order, a line per run of the last axis; long arrays are
// cut and say so.
std::string PrintValues(const NdArray& array);

}  // namespace ocannl

#endif  // OCANNL_PRINT_VALUES_H_
