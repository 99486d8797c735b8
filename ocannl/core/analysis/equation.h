// SPDX-License-Identifier: Apache-2.0
//
// Whether a linear equation over bounded integers can have a solution, by a GCD
// test and Banerjee bounds. They are combined by splitting at common divisors
// of the factors, which decides mixed-radix indices such as 16*i + j (the idea
// of the delinearization of Maslov 1992).
//
//   16*d + x - y = 0   with d in [1, 9], x and y in [0, 15]    cannot
//   2*x - 4*y + 1 = 0                                          cannot
#ifndef OCANNL_CORE_ANALYSIS_EQUATION_H_
#define OCANNL_CORE_ANALYSIS_EQUATION_H_

#include <cstdint>
#include <vector>

namespace ocannl {

// factor * x for any x in [least, greatest], which is another x in each term.
struct BoundedTerm {
  int64_t factor;
  int64_t least;
  int64_t greatest;
};

// Whether `constant` plus the terms may be 0. False is proved; true may be a
// false positive. No sum of the products overflows.
bool HasSolution(std::vector<BoundedTerm> terms, int64_t constant);

}  // namespace ocannl

#endif  // OCANNL_CORE_ANALYSIS_EQUATION_H_
