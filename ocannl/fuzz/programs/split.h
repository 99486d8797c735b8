// SPDX-License-Identifier: Apache-2.0
//
// SplitLoops: strip-mines loops: in two, with a tail where the strips do not
// fit.
//
//   for i0 = 0 to 9 { y[i0] := x[i0]; }
//     ->  for i1 = 0 to 1 { for i2 = 0 to 3 { y[4*i1 + i2] := ... } }
//         for i3 = 0 to 1 { y[i3 + 8] := ... }
//
// Every statement runs with the same indices in the same order.
#ifndef OCANNL_FUZZ_PROGRAMS_SPLIT_H_
#define OCANNL_FUZZ_PROGRAMS_SPLIT_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/policy.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

// Some loops of `program`, at random; all of them stay where Verify's rules for
// what is read do not see through the parts.
LoopProgram SplitLoops(LoopProgram program, Random& random,
                       const Policies& policies);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_SPLIT_H_
