// SPDX-License-Identifier: Apache-2.0
//
// Moves of the search: a script with one line or one tile changed. The result
// need not be legal (LegalScript leaves out what is not).
#ifndef OCANNL_TUNE_MOVES_H_
#define OCANNL_TUNE_MOVES_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/tune/script_lines.h"

namespace ocannl::tune {

// A line is dropped, moved or inserted, its loops or its number are changed,
// or a loop that is cut into whole tiles and a rest gets other tiles.
Lines Mutated(const LoopProgram& program, Lines lines, fuzz::Random& random);

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_MOVES_H_
