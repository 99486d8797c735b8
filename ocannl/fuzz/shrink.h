// SPDX-License-Identifier: Apache-2.0
//
// Shrink: test case reduction: a program that fails, made smaller by one step
// at a time until no step leaves one that fails.
//
//   LoopProgram small = Shrink(program, [&](const LoopProgram& p) {
//     return !Trial(p, kind, seed).Try(x86).empty();
//   });
#ifndef OCANNL_FUZZ_SHRINK_H_
#define OCANNL_FUZZ_SHRINK_H_

#include "absl/functional/function_ref.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::fuzz {

// Drops statements, loops, buffers and locals, cuts extents and axes, and puts
// operands or constants in the place of values, one step at a time, and keeps
// each step after which Verify accepts the program and it `fails`.
LoopProgram Shrink(LoopProgram program,
                   absl::FunctionRef<bool(const LoopProgram&)> fails);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_SHRINK_H_
