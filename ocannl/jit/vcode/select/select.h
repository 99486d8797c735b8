// SPDX-License-Identifier: Apache-2.0
//
// Select: LoopProgram -> VCode, one nest at a time: instruction selection by
// macro expansion of each node.
#ifndef OCANNL_JIT_VCODE_SELECT_SELECT_H_
#define OCANNL_JIT_VCODE_SELECT_SELECT_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// The instructions of `block`: statements of the body of a program that Verify
// accepts, with every statement that a local of theirs lives in. Derived ops
// are expanded; loads and common subexpressions of a basic block are computed
// once. SourceLine::text is empty unless `has_text`.
Nest Select(LoopProgram& program, const Block& block, Isa isa,
            bool has_text = true);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_SELECT_H_
