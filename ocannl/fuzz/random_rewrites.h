// SPDX-License-Identifier: Apache-2.0
//
// RewriteAtRandom: a program after some rewrites of a schedule by hand
// (core/schedule/rewrite) that happen to be legal; the same bits.
#ifndef OCANNL_FUZZ_RANDOM_REWRITES_H_
#define OCANNL_FUZZ_RANDOM_REWRITES_H_

#include <string>

#include "ocannl/core/loop/loop.h"

namespace ocannl::fuzz {

struct RandomlyRewritten {
  LoopProgram program;
  std::string script;  // that makes it of the one before
};

// The text of the program decides what is tried: rewrites of any loops and
// buffers but SplitReduce, which changes bits.
RandomlyRewritten RewriteAtRandom(LoopProgram program);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_RANDOM_REWRITES_H_
