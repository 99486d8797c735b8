// SPDX-License-Identifier: Apache-2.0
//
// Random einsums whose specs are right, with what they mean.
//
//   EinsumProgram program = RandomEinsum(random);
//   program.Spec()    // "|b->..v.., 2*a+1; ->a, a<+b => |->b"
#ifndef OCANNL_FUZZ_NOTATION_RANDOM_EINSUM_H_
#define OCANNL_FUZZ_NOTATION_RANDOM_EINSUM_H_

#include "ocannl/fuzz/notation/einsum_program.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

EinsumProgram RandomEinsum(Random& random);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_RANDOM_EINSUM_H_
