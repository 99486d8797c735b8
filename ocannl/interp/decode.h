// SPDX-License-Identifier: Apache-2.0
//
// Decode: LoopProgram -> Code.
#ifndef OCANNL_INTERP_DECODE_H_
#define OCANNL_INTERP_DECODE_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/interp/code.h"

namespace ocannl::interp {

// The code of a program that Verify accepts. Derived ops are expanded; equal
// expressions of one statement are computed once.
Code Decode(const LoopProgram& program);

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_DECODE_H_
