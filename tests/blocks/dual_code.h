// SPDX-License-Identifier: Apache-2.0
//
// Code on dual numbers: the values of tensors and their exact derivatives in
// one direction, computed together. What the code of gradients computes is
// tested against it.
#ifndef TESTS_BLOCKS_DUAL_CODE_H_
#define TESTS_BLOCKS_DUAL_CODE_H_

#include <map>
#include <string>
#include <vector>

#include "ocannl/core/assign/assignments.h"
#include "tests/support/dual.h"

namespace ocannl {

// The cells of arrays by name, in memory order.
using DualArrays = std::map<std::string, std::vector<Dual>>;

// Every static index is this.
inline constexpr int64_t kStaticOfDuals = 3;

// Runs `code`, for which `arrays` has what the host gives, and adds what it
// computes. No derivative passes through integers; one does through a tensor
// through which no gradient flows, to show where that is wrong.
void RunDual(Assignments code, DualArrays& arrays);

}  // namespace ocannl

#endif  // TESTS_BLOCKS_DUAL_CODE_H_
