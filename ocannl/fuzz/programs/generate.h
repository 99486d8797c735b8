// SPDX-License-Identifier: Apache-2.0
//
// Generate: a random program that VerifyPromises accepts, of any size and
// shape, to run on tiers. For tests that list each access of each iteration
// there are tiny ones, which Verify may reject
// (tests/support/random_program.h).
//
//   Policies policies = PoliciesOf(7);
//   LoopProgram program = Generate(7, policies);   // the same on every machine
#ifndef OCANNL_FUZZ_PROGRAMS_GENERATE_H_
#define OCANNL_FUZZ_PROGRAMS_GENERATE_H_

#include <cstdint>

#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/policy.h"

namespace ocannl::fuzz {

// What the program of `seed` is to have much of.
Policies PoliciesOf(uint64_t seed);

LoopProgram Generate(uint64_t seed, const Policies& policies);

// Loops that are not provably what they promise become `for`.
void KeepPromises(LoopProgram& program);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_GENERATE_H_
