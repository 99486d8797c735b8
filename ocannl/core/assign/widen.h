// SPDX-License-Identifier: Apache-2.0
//
// WidenSums: mixed-precision accumulation: code that accumulates in f32 what
// arrays of narrow floats hold, so that a sum is rounded once, not at every
// term.
//
//   n3 =:+ n1 * n2;   ->   n3.sum =:+ n1 * n2;  n3 =: n3.sum;
#ifndef OCANNL_CORE_ASSIGN_WIDEN_H_
#define OCANNL_CORE_ASSIGN_WIDEN_H_

#include <optional>

#include "ocannl/core/assign/assignments.h"

namespace ocannl {

// nullopt: nothing is accumulated in an array of narrow floats.
std::optional<Assignments> WidenSums(const Assignments& code);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_WIDEN_H_
