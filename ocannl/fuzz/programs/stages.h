// SPDX-License-Identifier: Apache-2.0
//
// Stages of structured programs: each adds nests that make one tensor of
// another to the program and returns the tensor, held by a buffer of `role`,
// which is kTemp or kOut; or of kInOut, where it is added to what is there.
#ifndef OCANNL_FUZZ_PROGRAMS_STAGES_H_
#define OCANNL_FUZZ_PROGRAMS_STAGES_H_

#include "ocannl/fuzz/programs/program_text.h"

namespace ocannl::fuzz {

// Values of x and of a tensor that is broadcast, pointwise.
Array Map(ProgramText& text, const Array& x, Role role);

// A contraction of x, whose axes get roles at random, with another tensor;
// sometimes a convolution, a sum or a maximum. Sometimes a Map of it.
Array Product(ProgramText& text, const Array& x, Role role);

// Some axes of values of x reduced.
Array Reduction(ProgramText& text, const Array& x, Role role);

// Of floats with at least one axis, along the last one.
Array Softmax(ProgramText& text, const Array& x, Role role);
Array Normalized(ProgramText& text, const Array& x, Role role);

// With private buffers, in the forms that lowering and scheduling make: the
// last axis summed in lanes; x of two axes times a matrix, tile by tile.
Array SumInLanes(ProgramText& text, const Array& x, Role role);
Array TiledProduct(ProgramText& text, const Array& x, Role role);

// w := w - 0.01 * g for a tensor w like g.
void Update(ProgramText& text, const Array& g);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_STAGES_H_
