// SPDX-License-Identifier: Apache-2.0
//
// RewriteAtRandom: a program after some rewrites of a schedule by hand
// (core/schedule/rewrite) that happen to be legal; the same bits.
#ifndef OCANNL_FUZZ_RANDOM_REWRITES_H_
#define OCANNL_FUZZ_RANDOM_REWRITES_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::fuzz {

struct RandomlyRewritten {
  LoopProgram program;
  std::string script;  // that makes it of the one before
};

// The text of the program decides what is tried: rewrites of any loops and
// buffers but SplitReduce, which changes bits. Calls `observe` before each try
// with the program and the lines.
RandomlyRewritten RewriteAtRandom(
    LoopProgram program,
    absl::FunctionRef<void(const LoopProgram& program, absl::string_view lines)>
        observe = [](const LoopProgram&, absl::string_view) {});

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_RANDOM_REWRITES_H_
