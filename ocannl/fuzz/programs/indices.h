// SPDX-License-Identifier: Apache-2.0
//
// Rewrites of every cell and index that a block mentions.
#ifndef OCANNL_FUZZ_PROGRAMS_INDICES_H_
#define OCANNL_FUZZ_PROGRAMS_INDICES_H_

#include "absl/functional/function_ref.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::fuzz {

// `block` of `program` with each cell c as cell(c), each index that is read as
// a number as index(i).
void RewriteIndices(LoopProgram& program, Block& block,
                    absl::FunctionRef<Access(Access)> cell,
                    absl::FunctionRef<Affine(const Affine&)> index);

// The same with each cell as cell(c) only.
void RewriteCells(LoopProgram& program, Block& block,
                  absl::FunctionRef<Access(Access)> cell);

// `block` with each symbol s of its indices as value(s).
void Substitute(LoopProgram& program, Block& block,
                absl::FunctionRef<Affine(Symbol)> value);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_INDICES_H_
