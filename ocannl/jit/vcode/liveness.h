// SPDX-License-Identifier: Apache-2.0
//
// Liveness: from which instruction to which each virtual register of a nest is
// live, as one interval without holes (allocate.h).
#ifndef OCANNL_JIT_VCODE_LIVENESS_H_
#define OCANNL_JIT_VCODE_LIVENESS_H_

#include <cstddef>
#include <vector>

#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

struct LiveInterval {
  int first = -1;  // instructions; -1: it is not used
  int last = -1;
  double uses = 0;  // weighted by frequency
  int bytes = 0;    // of the widest use
};

// Of each register. One that is live into a loop is so to the loop's end; one
// that is not defined as a whole before its use, around all loops.
std::vector<LiveInterval> LiveIntervals(const Nest& nest);

// The instruction that ends each loop.
std::vector<size_t> EndsOfLoops(const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_LIVENESS_H_
