// SPDX-License-Identifier: Apache-2.0
//
// Structured: programs like those that models become. A tensor goes through a
// few stages, each a nest or some: maps, products of random roles, reductions,
// softmax and layer normalisation, sums in lanes, products in tiles.
#ifndef OCANNL_FUZZ_PROGRAMS_STRUCTURED_H_
#define OCANNL_FUZZ_PROGRAMS_STRUCTURED_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/policy.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

LoopProgram Structured(Random& random, const Policies& policies);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_STRUCTURED_H_
