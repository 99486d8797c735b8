// SPDX-License-Identifier: Apache-2.0
//
// What an array holds, as text for people.
#ifndef OCANNL_PRINT_VALUES_H_
#define OCANNL_PRINT_VALUES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl {

// The values in memory order, a line per run of the last axis; of more than
// 1000, says how many were left out, and `when_cut`.
std::string PrintValues(const NdArray& array, absl::string_view when_cut = "");

}  // namespace ocannl

#endif  // OCANNL_PRINT_VALUES_H_
