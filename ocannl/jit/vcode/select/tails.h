// SPDX-License-Identifier: Apache-2.0
//
// Tails of vectorised loops: whether the lanes behind the last iteration may be
// read or written, so that the access needs no mask.
#ifndef OCANNL_JIT_VCODE_SELECT_TAILS_H_
#define OCANNL_JIT_VCODE_SELECT_TAILS_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/select/unroll.h"

namespace ocannl::jit {

// Whether the inactive lanes are in the padding behind scratch memory. A masked
// store is not forwarded to loads, which then have its latency to L1. `offset`
// is in bytes.
bool EndsInPadding(const Buffer& buffer, const Affine& offset,
                   const Lanes& lanes);

// Whether a load of `access` may overread: the inactive lanes too are in the
// buffer in every iteration. A masked load cannot
// be folded into its user.
bool CanOverread(const LoopProgram& program, const Unroller& unroller,
                 const Access& access);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_TAILS_H_
