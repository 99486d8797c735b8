// SPDX-License-Identifier: Apache-2.0
//
// Allocate: virtual registers -> registers of the machine, by linear scan.
//
//   KeepConstants(nest, isa);  // in registers
//   Allocation places = Allocate(nest, isa);
//
// A value lives from its definition to its last use; one that comes into a loop
// from outside lives to the end of the loop. Where registers run out, the value
// with the fewest uses for its length moves to the stack for all of its life.
#ifndef OCANNL_JIT_VCODE_ALLOCATE_H_
#define OCANNL_JIT_VCODE_ALLOCATE_H_

#include <cstdint>
#include <vector>

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// The registers that no value is given: for what happens inside of one
// instruction, if there is one that needs them, and for operands that are on
// the stack.
inline constexpr int kNumScratch = 2;
inline constexpr int kNumSpillScratch = 3;

struct Place {
  int8_t reg = -1;        // of the machine
  int32_t slot = -1;      // on the stack: bytes from the start of the spills
  int32_t constant = -1;  // made anew where it is used
};

struct Allocation {
  std::vector<Place> places;  // by virtual register
  int32_t spill_bytes = 0;
  bool has_scratch = true;  // of vectors and masks
};

// Whether values of the type are in mask registers.
bool IsMask(DType dtype, Isa isa);

// The number of registers that hold vectors or masks.
int NumRegisters(bool masks, Isa isa);

// The first register of the scratch ones; the others follow. Of masks, k0 is
// not used.
int FirstScratch(bool masks, Isa isa);
int FirstSpillScratch(bool masks, Isa isa);

Allocation Allocate(const Nest& nest, Isa isa);

// Gives registers that no value needs to those operands of a loop, or of a nest
// without loops, that are constants in memory, the most used ones first: they
// are loaded once, before it.
void KeepConstants(Nest& nest, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_ALLOCATE_H_
