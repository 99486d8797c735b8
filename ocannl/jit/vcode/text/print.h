// SPDX-License-Identifier: Apache-2.0
//
// VCode as text: a nest as the passes over it see it.
//
//   p0 = &x + 64*i1, uses 10
//   p1 = &z + 64*i1, uses 10
//   loop i1 = 0 to 9
//     ; z[i1, i2] := x[i1, i2] * 2
//     r1 = mul f32x16 2, [p0]
//     store f32x16 [p1], r1
//   end i1: p0 += 64, p1 += 64
//
// r is a register with one definition, v one that is mutable and has its type
// on top. [p0 + 4] is memory, contiguous unless a stride in bytes is said.
// `f32x16 of i32 first 12` has 16 lanes, of which memory has 12, of an i32;
// `mask r5` says which.
// Of two versions (StreamStores), the first is behind `if &z is aligned`, the
// other behind `else`. parse.h reads it.
#ifndef OCANNL_JIT_VCODE_TEXT_PRINT_H_
#define OCANNL_JIT_VCODE_TEXT_PRINT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

inline constexpr absl::string_view kShuffleNames[] = {
    "low32", "high32", "low64", "high64", "blocks256", "blocks512", "select32"};

// "fma", "load"
std::string NameOf(const Inst& inst);
// The stride of memory that is not said.
int ContiguousStride(const Inst& inst);

// `program` is what the nest was selected from.
std::string Print(const LoopProgram& program, const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_TEXT_PRINT_H_
