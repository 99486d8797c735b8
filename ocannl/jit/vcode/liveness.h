// SPDX-License-Identifier: Apache-2.0
//
// Liveness: from which instruction to which each virtual register of a nest is
// live, as one interval without holes (allocate.h).
#ifndef OCANNL_JIT_VCODE_LIVENESS_H_
#define OCANNL_JIT_VCODE_LIVENESS_H_

#include <array>
#include <cstddef>
#include <vector>

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// Instruction k reads its operands at 2 * k and writes its result at 2 * k + 1.
struct LiveInterval {
  int first = -1;  // -1: it is not used
  int last = -1;
  int bytes = 0;  // of the widest use
  bool is_mask = false;
  double uses = 0;  // weighted by frequency
};

// The intervals of all registers, then of all temps (TempsOf); of the temps of
// one instruction, vectors come first. A register that is live into a loop is
// live to the loop's end. A register that is used before it is defined as a
// whole is live around all loops. A temp is live from the reads of operands to
// the write of the result.
std::vector<LiveInterval> LiveIntervals(const Nest& nest, Isa isa);

// Register pressure: how many vectors, and how many masks, are live at each
// position of LiveInterval.
std::array<std::vector<int>, 2> RegisterPressure(const Nest& nest, Isa isa);

// How many operands each register is.
std::vector<int> CountUses(const Nest& nest);

// The instruction that ends each loop.
std::vector<size_t> EndsOfLoops(const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_LIVENESS_H_
