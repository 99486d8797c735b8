// SPDX-License-Identifier: Apache-2.0
//
// VCode as text: a nest as the passes over it see it.
//
//   p0 = &x + 64*i1
//   p1 = &z + 64*i1
//   loop i1 = 0 to 9
//     ; z[i1, i2] := x[i1, i2] * 2
//     r1 = mul f32x16 2, [p0]
//     store f32x16 [p1], r1
//   end i1: p0 += 64, p1 += 64
//
// r is a register with one definition, v one that is mutable. [p0 + 4] is
// memory, contiguous unless a stride in bytes is said. `f32x16 first 12` has 16
// lanes, of which memory has 12.
#ifndef OCANNL_JIT_VCODE_PRINT_H_
#define OCANNL_JIT_VCODE_PRINT_H_

#include <string>

#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// `program` is what the nest was selected from.
std::string Print(const LoopProgram& program, const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PRINT_H_
