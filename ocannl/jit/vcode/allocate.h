// SPDX-License-Identifier: Apache-2.0
//
// Allocate: virtual registers -> registers of the machine, by linear scan
// (Poletto and Sarkar 1999) over live intervals without holes or splits.
//
//   Allocation allocation = Allocate(nest, isa);
//
// An interval is from a value's definition to its last use, or to the end of a
// loop into which it is live. If registers run out, the interval of the least
// spill weight, which is uses by frequency / length, is spilled as a whole. The
// paper spills the interval that ends last. Constants are rematerialised
// instead. Then all is allocated again with registers for the reloads. The
// temps of an instruction have intervals, too, which are never spilled.
#ifndef OCANNL_JIT_VCODE_ALLOCATE_H_
#define OCANNL_JIT_VCODE_ALLOCATE_H_

#include <cstdint>
#include <vector>

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// The last registers, which no value is given where some are spilled: reloads
// of spilled operands, and the last one of a spilled result.
inline constexpr int kNumReloads = 3;

struct Location {
  int8_t reg = -1;        // of the machine
  int32_t slot = -1;      // spilled: bytes from the start of the spill slots
  int32_t constant = -1;  // rematerialised at each use
};

struct Allocation {
  std::vector<Location> locations;  // of what LiveIntervals has
  int32_t spill_bytes = 0;
};

Allocation Allocate(const Nest& nest, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_ALLOCATE_H_
