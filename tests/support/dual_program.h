// SPDX-License-Identifier: Apache-2.0
//
// A loop program run on dual numbers: what its buffers hold, and how fast that
// changes as its inputs do.
#ifndef TESTS_SUPPORT_DUAL_PROGRAM_H_
#define TESTS_SUPPORT_DUAL_PROGRAM_H_

#include <map>
#include <string>
#include <vector>

#include "ocannl/core/loop/loop.h"
#include "tests/support/dual.h"

namespace ocannl {

using DualArrays = std::map<std::string, std::vector<Dual>>;

// The buffers after a run with every static index at 0; those that `inputs`
// lack start at 0.
DualArrays RunOnDuals(LoopProgram program, const DualArrays& inputs);

}  // namespace ocannl

#endif  // TESTS_SUPPORT_DUAL_PROGRAM_H_
