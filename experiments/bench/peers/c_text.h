// SPDX-License-Identifier: Apache-2.0
//
// CText: a LoopProgram as plain C, one loop nest for each of its own: what a
// tensor engine hands to a C compiler.
//
//   zero_out y;                            for (int64_t c = 0; c < 8; ++c)
//   for i0 = 0 to 7 {                        y[c] = 0;
//     y[i0] := fma(x[i0], 2, y[i0]);       for (int64_t i0 = 0; i0 < 8; ++i0) {
//   }                                        const float t0 = x[i0];
//                                            ...
#ifndef EXPERIMENTS_BENCH_PEERS_C_TEXT_H_
#define EXPERIMENTS_BENCH_PEERS_C_TEXT_H_

#include <string>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// C11 with GCC's -fwrapv and -ffp-contract=off, of one function:
//   void run(char* const* buffers, const int64_t* statics);
// It computes the interpreter's bits unless the compiler may change them.
// Scratch is static, so one run at a time. Not of floats of 8 or 16 bits.
std::string CText(LoopProgram program);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PEERS_C_TEXT_H_
