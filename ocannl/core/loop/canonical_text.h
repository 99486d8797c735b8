// SPDX-License-Identifier: Apache-2.0
//
// CanonicalText: a LoopProgram with canonical names: equal for programs that
// are alpha-equivalent.
//
//   scale ():                                      p ():
//     in weights : f32[4]; out y : f32[4];           in b0 : f32[4]; ...
//     for i0 = 0 to 3 { y[i0] := weights[i0]; }  ->    ... b1[i0] := b0[i0];
#ifndef OCANNL_CORE_LOOP_CANONICAL_TEXT_H_
#define OCANNL_CORE_LOOP_CANONICAL_TEXT_H_

#include <string>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Programs with equal texts do the same with their first buffer, with their
// second one, and so on: what runs one of them runs the other.
std::string CanonicalText(LoopProgram program);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_CANONICAL_TEXT_H_
