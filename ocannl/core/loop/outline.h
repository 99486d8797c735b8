// SPDX-License-Identifier: Apache-2.0
//
// Outline: statements of a program as a program of their own (outlining, as of
// functions in LLVM's CodeExtractor).
//
//   for i7 = 0 to 9 { z[i7] := a[i7]; }  ->  buffers z, a; for i0 = 0 to 9 ...
//
// Statements that differ in the numbers of their loops and in the names of
// their buffers give programs that differ in those names.
#ifndef OCANNL_CORE_LOOP_OUTLINE_H_
#define OCANNL_CORE_LOOP_OUTLINE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct Outlined {
  // With the buffers and locals that the statements name, in an order that does
  // not depend on names, all static indices, and loops numbered as they come.
  LoopProgram program;
  IdVector<BufferId, BufferId> buffers;  // which of the whole program each is
};

// `block` is of `program`, and declares the locals that it uses.
Outlined Outline(const LoopProgram& program, const Block& block);

// The statements of a program's body, each on its own, but those in which a
// local lives together; without comments.
std::vector<Block> SplitNests(const Block& body);

// The name of a nest, by its number among them, in profiles, traces, schedules,
// machine code and debuggers: "nest-2".
std::string NestName(size_t number);

// Puts a comment with its name above each nest, where there are several. A
// comment of an earlier call is not repeated.
void NameNests(LoopProgram& program);

// `program` without its body, for bodies of some of its nests that run one
// after the other: temps, which other nests write and read, are inout.
LoopProgram FrameOfNests(const LoopProgram& program);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_OUTLINE_H_
