// SPDX-License-Identifier: Apache-2.0
//
// Tails: registers that have more lanes than there are iterations, and whether
// memory has those lanes too.
#ifndef OCANNL_JIT_VCODE_TAILS_H_
#define OCANNL_JIT_VCODE_TAILS_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/unroll.h"

namespace ocannl::jit {

// Whether the lanes that do not exist are in the padding behind scratch memory,
// so that no mask need keep them away: loads wait for a masked store until it
// has reached the cache. `place` counts in bytes.
bool EndsInPadding(const Buffer& buffer, const Affine& place,
                   const Lanes& lanes);

// Whether memory behind a tail of `access` is the buffer's too, wherever the
// loops are: then all lanes are loaded, as a mask costs as much as a sum.
bool HasMore(const LoopProgram& program, const Unroller& unroller,
             const Access& access);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_TAILS_H_
