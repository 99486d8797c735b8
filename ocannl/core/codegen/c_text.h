// SPDX-License-Identifier: Apache-2.0
//
// CText: a LoopProgram as plain C, one loop nest for each of its own: what a
// tensor engine hands to a C compiler.
#ifndef OCANNL_CORE_CODEGEN_C_TEXT_H_
#define OCANNL_CORE_CODEGEN_C_TEXT_H_

#include <string>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// C11 with GCC's -ffp-contract=off, of one function:
//   void run(char* const* buffers, const int64_t* statics);
// It computes the interpreter's bits unless the compiler may change them.
// Scratch is static, so one run at a time.
std::string CText(LoopProgram program);

}  // namespace ocannl

#endif  // OCANNL_CORE_CODEGEN_C_TEXT_H_
