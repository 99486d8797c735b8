// SPDX-License-Identifier: Apache-2.0
//
// Concatenate: programs that run one after the other, as one program.
//
//   p (k : [0..9]): in x : f32[10]; out y : f32[1]; y[0] := x[k];
//   q (k : [0..9]): in y : f32[1]; inout z : f32[10]; z[k] := y[0];
//     ->
//   p_q (k : [0..9], k_2 : [0..9]):
//     in x : f32[10]; out y : f32[1]; inout z : f32[10];
//     y[0] := x[k]; z[k_2] := y[0];
#ifndef OCANNL_CORE_LOOP_CONCATENATE_H_
#define OCANNL_CORE_LOOP_CONCATENATE_H_

#include <cstddef>
#include <string>

#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct ProgramPart {
  const LoopProgram* program;
  // What each buffer is bound to. Equal pointers, of one part or of several:
  // the same memory. Not read for scratch.
  IdVector<BufferId, const void*> bound_to;
};

struct Concatenation {
  // Its statics are those of the parts, in order.
  LoopProgram program;
  // Of each of its buffers: of which part it comes, and which buffer it is
  // there. Buffers that are bound to the same memory come once.
  struct Origin {
    size_t part;
    BufferId buffer;
  };
  IdVector<BufferId, Origin> origins;
};

// A run of the result is a run of each part in turn. Names that two parts use
// for different things are made unique.
Concatenation Concatenate(std::string name,
                          absl::Span<const ProgramPart> parts);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_CONCATENATE_H_
