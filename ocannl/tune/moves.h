// SPDX-License-Identifier: Apache-2.0
//
// Mutations of the search: a script with one line or one tile changed. Some
// lines of the result may be illegal; LegalScript leaves these out.
#ifndef OCANNL_TUNE_MOVES_H_
#define OCANNL_TUNE_MOVES_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/tune/script_lines.h"

namespace ocannl::tune {

// `lines` after one random change. A line is dropped, moved or inserted, its
// loops or its number are changed, or a loop that is split into tiles and a
// remainder gets tiles of another size.
//
//   Mutated(program, {"lane = split i1 16"}, random)   {"lane = split i1 32"}
Lines Mutated(const LoopProgram& program, Lines lines, fuzz::Random& random);

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_MOVES_H_
