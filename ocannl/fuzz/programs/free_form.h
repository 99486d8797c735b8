// SPDX-License-Identifier: Apache-2.0
//
// FreeForm: random statements in random loops over random buffers, small in
// extent and odd in everything. Valid by construction.
#ifndef OCANNL_FUZZ_PROGRAMS_FREE_FORM_H_
#define OCANNL_FUZZ_PROGRAMS_FREE_FORM_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/policy.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

LoopProgram FreeForm(Random& random, const Policies& policies);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_FREE_FORM_H_
