// SPDX-License-Identifier: Apache-2.0
//
// Decode: compiles a LoopProgram to Bytecode.
#ifndef OCANNL_INTERP_DECODE_H_
#define OCANNL_INTERP_DECODE_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/interp/bytecode.h"

namespace ocannl::interp {

// The code of a program that Verify accepts. Derived ops are expanded; common
// subexpressions of one statement are computed once.
Bytecode Decode(const LoopProgram& program);

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_DECODE_H_
