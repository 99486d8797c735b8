// SPDX-License-Identifier: Apache-2.0
//
// Layers: matrix products in plain loops with pointwise nests that use them, of
// the sizes at which the scheduler tiles, packs and shares work among threads.
#ifndef OCANNL_FUZZ_PROGRAMS_LAYERS_H_
#define OCANNL_FUZZ_PROGRAMS_LAYERS_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/policy.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

LoopProgram Layers(Random& random, const Policies& policies);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_LAYERS_H_
